// `sidegate rules`: lists the rules in force with their sources.

import { visibleLine } from '../core/hidden-characters.ts'
import { isoTimeOrNull } from '../core/time.ts'
import { declaredRule } from '../policy/declared-rule.ts'
import type { EffectiveRule } from '../rules/merge.ts'
import { StoreOpenError } from '../store/environment/lmdb.ts'
import {
  type Command,
  DEFAULT_CONFIG,
  defaultConfig,
  type ExitCode,
  noAction,
  parseArguments,
  printProblems,
  UsageError,
  writeLine,
} from './command.ts'
import { rulesInForce } from './rules-in-force.ts'
import { usableConfig } from './usable-config.ts'

const HELP = `Usage: sidegate rules list [--json] [--config FILE]

Lists the rules that a gateway with this configuration has in force: those of the files,
then those made through the API, each with its source and with what the API has
switched. Works beside a running gateway. In a pipe the output is JSON, one rule a line.

  --json         JSON also on a terminal
  --config FILE  configuration (default ${DEFAULT_CONFIG})
  --help         print this text

Exit: 0 listed, 1 there are errors in rules, 2 could not run.
`

const OPTIONS = {
  config: { type: 'string', takes: 'path' },
  json: { type: 'boolean' },
} as const
const ACTIONS = ['list'] as const

export const rules: Command = {
  name: 'rules',
  summary: 'list the rules in force with their sources',
  options: OPTIONS,
  argument: ACTIONS,
  help: HELP,
  async run(args, io): Promise<ExitCode> {
    const { values, positionals } = parseArguments(args, OPTIONS)
    if (positionals[0] !== 'list') throw noAction(positionals[0], ACTIONS)
    if (positionals[1] !== undefined)
      throw new UsageError(`unexpected argument ${positionals[1]}; give one action`)
    try {
      const found = await rulesInForce(usableConfig(values.config ?? defaultConfig(), io))
      const asJson = values.json === true || !io.out.isTTY
      for (const { rule } of found.rules)
        writeLine(io.out, asJson ? JSON.stringify(describe(rule)) : lineOf(rule))
      if (found.rules.length === 0 && !asJson) writeLine(io.out, 'No rules; personal data is redacted.')
      if (found.problems.length === 0) return 0
      printProblems(io, found.problems, 'a running gateway keeps the last good rules of its files')
      return 1
    } catch (error) {
      if (!(error instanceof StoreOpenError)) throw error
      writeLine(io.err, `sidegate rules: ${error.message}`)
      return 2
    }
  },
}

const sourceOfRule = ({ source }: EffectiveRule): string =>
  source.kind === 'api'
    ? 'API'
    : `${source.kind === 'hub' ? 'hub ' : ''}${source.path ?? 'API'}${source.line === undefined ? '' : `:${source.line}`}`

function lineOf(rule: EffectiveRule): string {
  const state = rule.enabled ? 'enabled' : 'disabled'
  const switched = rule.override === null ? '' : `  switched: ${rule.override.reason || 'no reason given'}`
  const action = (rule.action ?? '').padEnd(8)
  return visibleLine(
    `${state.padEnd(9)} ${rule.type.padEnd(17)} ${action} ${rule.name}  (${sourceOfRule(rule)})${switched}`,
  )
}

const describe = (rule: EffectiveRule) => ({
  ...declaredRule(rule),
  declared_enabled: rule.declaredEnabled,
  source: rule.source,
  override:
    rule.override === null
      ? null
      : { reason: rule.override.reason, expires_at: isoTimeOrNull(rule.override.expiresAtMs) },
})
