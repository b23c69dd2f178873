// Watches the open database file for deletion. A deleted file still accepts writes, which are lost
// when the process ends.

import { closeSync, fstatSync, openSync } from 'node:fs'

export class OpenFile {
  readonly #handle: number

  /** @throws the system's error when the file cannot be read */
  constructor(file: string) {
    this.#handle = openSync(file, 'r')
  }

  /** Reports whether no folder holds the file; a moved file is not deleted. */
  isDeleted(): boolean {
    return fstatSync(this.#handle).nlink === 0
  }

  close(): void {
    closeSync(this.#handle)
  }
}
