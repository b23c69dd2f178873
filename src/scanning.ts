// What texts are searched with, built once from the configuration.

import type { Config } from './core/config.ts'
import { loadInjectionModel } from './detect/injection/score.ts'
import { kindSet } from './detect/pii/kinds.ts'
import type { Pipeline } from './pipeline/handle.ts'
import { Recall } from './pipeline/recall.ts'

export function openScanning(config: Config): Pick<Pipeline, 'injection' | 'kinds' | 'recall'> {
  return { injection: loadInjectionModel(), kinds: kindSet(config.pii.kinds), recall: new Recall() }
}
