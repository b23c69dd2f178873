// The database file as long as it is open. One that is deleted meanwhile goes on taking writes, and is gone with the
// process.

import { closeSync, fstatSync, openSync } from 'node:fs'

export class OpenFile {
  readonly #handle: number

  /** @throws the system's error when it cannot be read */
  constructor(file: string) {
    this.#handle = openSync(file, 'r')
  }

  /** Whether no folder has it any more; one that was moved is somewhere. */
  isDeleted(): boolean {
    return fstatSync(this.#handle).nlink === 0
  }

  close(): void {
    closeSync(this.#handle)
  }
}
