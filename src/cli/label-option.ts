// Reads the option --label of commands.

import type { KeyLabels } from '../core/key-terms.ts'
import { UsageError } from './command.ts'

/**
 * Reads labels written as NAME=VALUE; of two with one name, the last counts.
 * @throws UsageError for any other form
 */
export const readLabelOption = (written: readonly string[]): KeyLabels =>
  Object.fromEntries(written.map(readLabel))

function readLabel(written: string): [name: string, value: string] {
  const at = written.indexOf('=')
  if (at < 1) throw new UsageError('--label must be NAME=VALUE')
  return [written.slice(0, at), written.slice(at + 1)]
}
