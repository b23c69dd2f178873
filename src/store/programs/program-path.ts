// Where the programs are that the store runs beside itself, in processes and threads of their own.

import { extname, join } from 'node:path'

/** The file of a program: it lies beside this one, in the source as in what is built of it, and is written alike. */
export const programPath = (name: string): string =>
  join(import.meta.dirname, `${name}${extname(import.meta.filename)}`)
