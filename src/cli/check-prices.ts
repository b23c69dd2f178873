// The part of `sidegate check` for prices: the price file of a configuration, and models that calls
// used without a price.

import type { Config } from '../core/config.ts'
import { isAmong } from '../core/config-document.ts'
import type { HubConfig, HubConfigReading } from '../core/hub-config.ts'
import type { Problem } from '../core/problem.ts'
import { openPrices, whyNoPrices } from '../prices/price-file.ts'
import { counted, type Remark } from '../rulecheck/report.ts'
import { UNPRICED_DAYS, unpricedModels } from './unpriced-models.ts'

/** Models that a warning names. */
const MAXIMUM_NAMED = 20

/**
 * @param config of a gateway, whose calls are looked at, or of a hub
 * @returns the remarks, and the name of the price file if there is one
 */
export async function checkPrices(
  { problems, problemAt }: Pick<HubConfigReading, 'problems' | 'problemAt'>,
  config: Config | HubConfig,
): Promise<{ remarks: readonly Remark[]; files: readonly string[] }> {
  const { prices } = config
  if (prices === null || isAmong(problems, ['prices', 'path'])) return { remarks: [], files: [] }
  const reason = whyNoPrices(prices.path)
  if (reason !== null) return { remarks: [error(problemAt(['prices', 'path'], reason))], files: [] }
  const source = await openPrices(prices.path)
  const { book, problems: found } = await source.read()
  const remarks = [...found.map(error), ...(await source.lint()).map(warning)]
  if (prices.unknownPrice === 'ignore') remarks.push(warning(problemAt(['prices', 'unknownPrice'], IGNORED)))
  const models = found.length > 0 || !('data' in config) ? [] : await unpricedModels(config, book)
  if (models.length > 0) remarks.push(warning(problemAt(['prices', 'path'], unpricedMessage(models))))
  return { remarks, files: [source.file] }
}

const error = (problem: Problem): Remark => ({ severity: 'error', problem })
const warning = (problem: Problem): Remark => ({ severity: 'warning', problem })

const IGNORED =
  'lets calls to models without a price pass a limit in USD; write `block`, or end the price file with a line for `*`'

function unpricedMessage(models: readonly string[]): string {
  const named = models.slice(0, MAXIMUM_NAMED).map((model) => `\`${model}\``)
  const rest = models.length > MAXIMUM_NAMED ? ` and ${counted(models.length - MAXIMUM_NAMED, 'other')}` : ''
  return `has no price for ${named.join(', ')}${rest}, which calls of the last ${UNPRICED_DAYS} days used; add a line for each`
}
