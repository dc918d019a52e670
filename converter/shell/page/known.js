// What all of the page knows: the rows of the list, and the exchanges that are shown, each by the id of its flow.

export const rows = new Map();
export const shown = new Map();
