// What texts are searched with and prompts judged by beside the rules, built once from the configuration.

import type { Config } from '../core/config.ts'
import { loadInjectionModel } from '../detect/injection/score.ts'
import { kindSet } from '../detect/pii/kinds.ts'
import type { Pipeline } from '../pipeline/handle.ts'
import { Recall } from '../pipeline/recall.ts'
import { roomForSearches } from './rooms.ts'

export function openScanning(
  config: Config,
): Pick<Pipeline, 'injection' | 'kinds' | 'binaryParts' | 'recall' | 'searches'> {
  const { kinds, binaryParts } = config.pii
  return {
    injection: loadInjectionModel(),
    kinds: kindSet(kinds),
    binaryParts,
    recall: new Recall(),
    searches: roomForSearches(),
  }
}
