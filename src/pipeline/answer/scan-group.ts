// Scans neighbouring blocks of text, which a client shows as one. Each block keeps its own text,
// unless a value or a keyword is split over two: then it comes in the one in which it ends.

import type { Text } from '../../chat/texts.ts'
import type { Steps } from '../../core/steps.ts'
import type { Placeholders } from '../scan/placeholders.ts'
import { joinOutputs, type ScanOutput } from '../scan/scan-output.ts'
import { type ScanRules, TextScanner } from '../scan/text-scanner.ts'

interface BlockScan {
  /** Has the findings, and the edits of all blocks as one text. */
  readonly scanner: TextScanner
  /** One for each block. */
  readonly outputs: readonly ScanOutput[]
}

/**
 * @param continues whether the last block continues later, so that what it holds back is left out
 */
export function* scanGroup(
  parts: readonly string[],
  encoding: Text['encoding'],
  rules: ScanRules,
  placeholders: Placeholders,
  continues = false,
): Steps<BlockScan> {
  const scanner = new TextScanner(rules, placeholders.fork(), encoding)
  const outputs: ScanOutput[] = []
  for (const part of parts) outputs.push(yield* scanner.pushSteps(part))
  const last = outputs.length - 1
  if (!continues) outputs[last] = joinOutputs(outputs[last]!, scanner.finish())
  if (parts.length === 1 || continues || scanner.blocked) return { scanner, outputs }
  const alone = yield* scanAlone(parts, encoding, rules, placeholders.fork())
  const isSame = sentOf(alone) === sentOf(outputs)
  return { scanner, outputs: isSame ? alone : outputs }
}

function* scanAlone(
  parts: readonly string[],
  encoding: Text['encoding'],
  rules: ScanRules,
  placeholders: Placeholders,
): Steps<ScanOutput[]> {
  const outputs: ScanOutput[] = []
  for (const part of parts) {
    const scanner = new TextScanner(rules, placeholders, encoding)
    outputs.push(yield* scanner.allSteps(part))
  }
  return outputs
}

const sentOf = (outputs: readonly ScanOutput[]): string => outputs.map(({ sent }) => sent).join('')
