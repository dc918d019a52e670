// The rows of the list and the exchanges that are shown, by the id of their flows.

export const rows = new Map();
export const shown = new Map();
