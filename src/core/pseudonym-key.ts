// Reads the key of pseudonyms that the configuration names.

import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Context, readSecret, type SecretReference } from './config-values.ts'
import type { Path } from './document.ts'
import type { Secret } from './secret.ts'

/** As many as 128 bits in hexadecimal digits. */
export const MINIMUM_PSEUDONYM_KEY_CHARACTERS = 32

const READABLE_BY_OTHERS = 0o004

const HINT = 'make one with: (umask 077; openssl rand -hex 32 > pseudonym.key)'

/** Returns the key; null without a reference, and for an unusable key, which it reports. */
export function readPseudonymKey(
  context: Context,
  path: Path,
  reference: Pick<SecretReference, 'file'> | undefined,
): Secret | null {
  // A reference without a file does not fit the schema, which reports it.
  if (reference?.file === undefined) return null
  const file = resolve(context.folder, reference.file)
  const whyNot = (key: string) => whyTooShort(key) ?? whyTooOpen(file)
  const secret = readSecret(context, path, reference, HINT, whyNot)
  const problem = secret === null ? null : whyNot(secret.current())
  if (problem !== null) context.add(path, problem)
  return problem === null ? secret : null
}

const whyTooShort = (key: string): string | null =>
  key.length >= MINIMUM_PSEUDONYM_KEY_CHARACTERS
    ? null
    : `has ${key.length} characters; a key has at least ${MINIMUM_PSEUDONYM_KEY_CHARACTERS}; ${HINT}`

/** Groups may read it, because Kubernetes gives files of a Secret to a group. */
function whyTooOpen(file: string): string | null {
  const mode = statSync(file).mode & 0o777
  return (mode & READABLE_BY_OTHERS) === 0
    ? null
    : `can be read by others (mode ${mode.toString(8).padStart(4, '0')}); use chmod 0600, or defaultMode: 0440 for a volume of Kubernetes`
}
