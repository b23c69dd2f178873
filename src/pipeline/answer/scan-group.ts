// Scans neighbouring blocks of text, which a client shows as one. Each block keeps its own text; a
// value that is split over several is written in the block where it ends.

import type { Text } from '../../chat/texts.ts'
import type { Steps } from '../../core/steps.ts'
import type { Placeholders } from '../scan/placeholders.ts'
import { joinOutputs, NO_OUTPUT, type ScanOutput } from '../scan/scan-output.ts'
import { cutOutput } from '../scan/text-edits.ts'
import { type ScanRules, TextScanner } from '../scan/text-scanner.ts'

interface BlockScan {
  /** Has the findings, and the edits of all blocks as one text. */
  readonly scanner: TextScanner
  /** One for each block. */
  readonly outputs: readonly ScanOutput[]
}

/**
 * @param label as in Text, for a value whose name says what it is; '' for none
 * @param continues whether the last block continues later, so that what it holds back is left out
 */
export function* scanGroup(
  parts: readonly string[],
  encoding: Text['encoding'],
  rules: ScanRules,
  placeholders: Placeholders,
  label: string,
  continues = false,
): Steps<BlockScan> {
  const scanner = new TextScanner(rules, placeholders.fork(), encoding)
  scanner.readAfter(label)
  if (rules.outside !== undefined) scanner.expect(rules.outside.of({ text: parts.join(''), encoding }))
  let output = NO_OUTPUT
  for (const part of parts) output = joinOutputs(output, yield* scanner.pushSteps(part))
  if (!continues) output = joinOutputs(output, scanner.finish())
  const lengths = parts.map(({ length }) => length)
  return { scanner, outputs: cutOutput(output, scanner.edits, lengths) }
}
