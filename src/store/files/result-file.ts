// Names the file with the result of the last full verification, which belongs to one log.

export const RESULT_FILE = 'last-verification.json'
