// Which sidecars get a key or a rule, by their namespace.

import { compileGlob } from '../policy/glob.ts'

/** Reports whether sidecars of a namespace get something. @param globs null for all */
export const isForNamespace = (globs: readonly string[] | null, namespace: string): boolean =>
  globs === null || globs.some((glob) => compileGlob(glob)(namespace))
