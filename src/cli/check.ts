// `sidegate check`: validates configuration, rules and prices without serving, for pull requests
// and init containers.

import { whyNotSigner } from '../audit/note.ts'
import { systemClock } from '../core/clock.ts'
import { type Config, readConfig } from '../core/config.ts'
import { isAmong } from '../core/config-document.ts'
import { isAbsentSecret } from '../core/config-values.ts'
import { isHubConfig, readHubConfig } from '../core/hub-config.ts'
import { formatProblem, type Problem } from '../core/problem.ts'
import { openKindsIn, recognisedKinds } from '../core/recogniser-config.ts'
import { findUnfitAdminNames } from '../keys/admin-names.ts'
import { findUnfitKeys } from '../keys/key-names.ts'
import { parsePrices } from '../prices/price-file.ts'
import { lintPrices } from '../prices/price-lint.ts'
import { findCaseFiles, isCasePath, loadCases } from '../rulecheck/cases.ts'
import { type LintContext, lintRules, SHARE_PSEUDONYM_KEY } from '../rulecheck/lint.ts'
import { formatRemarks, REMARK_FORMATS, type Remark, type RemarkFormat } from '../rulecheck/report.ts'
import { isPriceFile, missingPaths, readSources } from '../rulecheck/rule-sources.ts'
import { findUnread } from '../rulecheck/unread.ts'
import { type RuleFile, type RuleReader, whyNoRules } from '../rules/files.ts'
import { problemsOf, snapshotOf } from '../rules/snapshot.ts'
import { findUnusableCertificates } from '../upstream/client-certificates.ts'
import { unsafeSettings } from '../upstream/environment.ts'
import { checkGlobs } from './check-globs.ts'
import { checkPrices } from './check-prices.ts'
import {
  type Command,
  type CommandIo,
  DEFAULT_CONFIG,
  defaultConfig,
  type ExitCode,
  parseArguments,
  UsageError,
} from './command.ts'
import { missingPath } from './provider-paths.ts'
import { inWorkspace } from './workspace.ts'

const HELP = `Usage: sidegate check [PATH…] [--config FILE] [--format FORMAT] [--fail-on warning]

Reports every error in rules and prices at once, each with file:line:column. A PATH is a
rule file, a test file of rules, a folder of them, a price file, or a Kubernetes ConfigMap
manifest with such files in its data. Without PATH it checks the configuration and the
files that the configuration names. It needs no credentials: a missing one is a warning.

Warnings: rules without effect, rules that contradict each other, patterns that match
nearly everything, are near the size limits or have white space at the edges of their
alternatives, globs that look like regular expressions or have white space at the ends
or characters that nobody sees, lines of prices behind one for the same models, files
in a rules folder that are not read; with --config also pass-through paths that match
nothing or cover an endpoint that is scanned, keys and kinds that the configuration does not have,
a base URL of a known provider without its path, and models that calls of the last week
used and that have no price.

  --config FILE      configuration of a gateway or a hub (default when no
                     PATH is given: ${DEFAULT_CONFIG})
  --format FORMAT    pretty, github, json or junit (default github where
                     GITHUB_ACTIONS is true, else pretty)
  --fail-on warning  warnings count as errors
  --help             print this text

Exit: 0 no errors; 1 errors (or warnings with --fail-on warning); 2 could not run, or
a file could not be read.
`

const SEVERITIES = ['error', 'warning'] as const

const OPTIONS = {
  config: { type: 'string', takes: 'path' },
  format: { type: 'string', takes: REMARK_FORMATS },
  'fail-on': { type: 'string', takes: SEVERITIES },
} as const

export const check: Command = {
  name: 'check',
  summary: 'validate configuration, rules and prices without serving',
  options: OPTIONS,
  argument: 'path',
  help: HELP,
  async run(args, io): Promise<ExitCode> {
    const { values, positionals } = parseArguments(args, OPTIONS)
    const format = chooseFormat(values.format, REMARK_FORMATS, io)
    const failOn = values['fail-on'] ?? 'error'
    if (!SEVERITIES.some((one) => one === failOn)) throw new UsageError('--fail-on takes error or warning')
    const withConfig = values.config !== undefined || positionals.length === 0
    const configured = withConfig ? await checkConfig(values.config ?? defaultConfig(), io) : null
    const paths = positionals.length > 0 ? positionals : (configured?.paths ?? [])
    const missing = positionals.length > 0 ? await missingPaths(paths) : []
    if (missing.length > 0) throw new UsageError(`there is no file or folder ${missing.join(', ')}`)
    const remarks: Remark[] = [...(configured?.remarks ?? [])]
    const checked = new Set(configured === null ? [] : configured.files)
    for (const problem of await testFileProblems(paths, checked)) remarks.push({ severity: 'error', problem })
    const rulesOf = paths.filter((path) => !isCasePath(path))
    for (const group of positionals.length > 0 ? [rulesOf] : rulesOf.map((path) => [path])) {
      const sources = await readSources(group)
      const { problems } = sources
      // The gateway refuses prices among its rules.
      const isPrices = (file: RuleFile) => positionals.length > 0 && isPriceFile(file)
      const files = sources.files.filter((file) => !isPrices(file))
      const prices = [...sources.prices, ...sources.files.filter(isPrices)]
      for (const { name } of [...files, ...prices]) checked.add(name)
      for (const { text, name } of prices) {
        for (const problem of parsePrices(text, name).problems) remarks.push({ severity: 'error', problem })
        for (const problem of lintPrices(text, name)) remarks.push({ severity: 'warning', problem })
      }
      for (const remark of lint(files, problems, configured)) remarks.push(remark)
      for (const path of group) {
        for (const problem of await findUnread(path, paths)) remarks.push({ severity: 'warning', problem })
      }
    }
    io.out.write(formatRemarks(relocate(remarks, format, io), [...checked], format))
    // The errors of a file that cannot be read are not known.
    if (remarks.some(({ problem }) => problem.unread)) return 2
    return remarks.some(({ severity }) => severity === 'error' || failOn === 'warning') ? 1 : 0
  },
}

/**
 * Returns the format asked for; without one, `github` on GitHub Actions if the command has it, else
 * `pretty`.
 * @throws UsageError for a format that is not in the list
 */
export function chooseFormat<Format extends string>(
  asked: string | undefined,
  formats: readonly Format[],
  { env }: Pick<CommandIo, 'env'>,
): Format | 'pretty' {
  const github = formats.find((format) => format === ('github' satisfies RemarkFormat))
  if (asked === undefined) return env['GITHUB_ACTIONS'] === 'true' ? (github ?? 'pretty') : 'pretty'
  const known = formats.find((format) => format === asked)
  if (known === undefined) throw new UsageError(`--format takes one of ${formats.join(', ')}`)
  return known
}

/**
 * Makes file names relative to the workspace, because GitHub shows a remark only where it finds the
 * file.
 */
const relocate = (
  remarks: readonly Remark[],
  format: RemarkFormat,
  { env }: Pick<CommandIo, 'env'>,
): readonly Remark[] =>
  format !== 'github'
    ? remarks
    : remarks.map(({ severity, problem }) => {
        const file = inWorkspace(problem.file, env['GITHUB_WORKSPACE'])
        return { severity, problem: { ...problem, file } }
      })

const contextOf = ({ config, namesPseudonymKey }: CheckedConfig): LintContext | null =>
  config === null
    ? null
    : {
        keyNames: config.keys.map(({ name }) => name),
        kinds: [...config.pii.kinds, ...recognisedKinds(config.recognisers)],
        namesPseudonymKey,
      }

interface CheckedConfig {
  /** Null for an unusable one, and for that of a hub. */
  readonly config: Config | null
  /** Whose rule files they are. */
  readonly reader: RuleReader
  readonly remarks: readonly Remark[]
  /** Whether it names the key of pseudonyms, usable or not. */
  readonly namesPseudonymKey: boolean
  /** Files that were checked. */
  readonly files: readonly string[]
  /** Paths of the rules that exist. */
  readonly paths: readonly string[]
}

/** A check needs no credentials. */
const remarkOf = (problem: Problem): Remark => ({
  severity: isAbsentSecret(problem) ? 'warning' : 'error',
  problem,
})

/** Checks the configuration of a gateway with its prices, or that of a hub. */
async function checkConfig(file: string, io: Pick<CommandIo, 'env'>): Promise<CheckedConfig> {
  if ((await missingPaths([file])).length > 0) {
    throw new UsageError(
      `there is no configuration ${file}; name it with --config, write one with \`sidegate init\`, or give a PATH of rules`,
    )
  }
  if (isHubConfig(file)) {
    const { config, problems, problemAt } = readHubConfig(file, io.env, systemClock)
    const key = config?.audit.signingKey ?? null
    const reason = key === null ? null : whyNotSigner(key.current())
    const unfit = reason === null ? [] : [problemAt(['audit', 'signingKey'], reason)]
    const remarks = [...problems, ...unfit].map(remarkOf)
    const { paths, missing } = rulePaths({ path: config?.rules?.path ?? null }, problems)
    for (const [path, reason] of missing)
      remarks.push({ severity: 'error', problem: problemAt(path, reason) })
    const prices = config === null ? NO_REMARKS : await checkPrices({ problems, problemAt }, config)
    const files = [file, ...prices.files]
    const all = [...remarks, ...prices.remarks]
    return { config: null, reader: 'hub', files, paths, remarks: all, namesPseudonymKey: false }
  }
  const reading = readConfig(file, io.env, systemClock)
  const { partial: config, problems, problemAt } = reading
  const unread = problems.find(({ line }) => line === 0)
  if (unread !== undefined) throw new UsageError(formatProblem(unread))
  const remarks = problems.map(remarkOf)
  for (const findUnfit of [findUnfitKeys, findUnfitAdminNames])
    for (const problem of config === null ? [] : findUnfit(reading, config))
      remarks.push({ severity: 'error', problem })
  for (const { baseUrl, declaredAt } of config?.upstreams ?? []) {
    const at = [...declaredAt, 'baseUrl']
    const noPath = isAmong(problems, at) ? null : missingPath(baseUrl)
    if (noPath !== null) remarks.push({ severity: 'warning', problem: problemAt(at, noPath) })
  }
  if (config !== null) remarks.push(...checkGlobs(reading, config))
  const unshared = config === null ? null : whyUnshared(config)
  if (unshared !== null && !isAmong(problems, KEY_PATH))
    remarks.push({ severity: 'warning', problem: problemAt(KEY_PATH, unshared) })
  const settings = { env: io.env, options: process.execArgv }
  for (const { path, message } of config === null ? [] : unsafeSettings(config, settings))
    remarks.push({ severity: 'error', problem: problemAt(path, message) })
  for (const { path, message } of findUnusableCertificates(config?.upstreams ?? []))
    if (!isAmong(problems, path)) remarks.push({ severity: 'error', problem: problemAt(path, message) })
  const { paths, missing } = rulePaths(
    { path: config?.rules.path ?? null, candidatePath: config?.rules.candidatePath ?? null },
    problems,
  )
  for (const [path, reason] of missing) remarks.push({ severity: 'error', problem: problemAt(path, reason) })
  const prices = config === null ? NO_REMARKS : await checkPrices(reading, config)
  const files = [file, ...prices.files]
  const namesPseudonymKey = config?.pii.pseudonymKey != null || isAmong(problems, KEY_PATH)
  const all = [...remarks, ...prices.remarks]
  return { config, reader: 'gateway', files, paths, remarks: all, namesPseudonymKey }
}

const KEY_PATH = ['pii', 'pseudonymKey']

/** What sidecars of a hub lack to name values alike in embeddings; null when they lack nothing. */
const whyUnshared = ({ fleet, pii }: Config): string | null =>
  fleet === null || pii.pseudonymKey !== null || pii.embeddings !== 'pseudonym'
    ? null
    : `is missing, so each sidecar gives values of embeddings pseudonyms of its own; ${SHARE_PSEUDONYM_KEY}`

const NO_REMARKS = { remarks: [], files: [] } as const

/** The paths of the section `rules` with something to read, and why the others have nothing. */
function rulePaths(
  named: Readonly<Record<string, string | null>>,
  problems: readonly Problem[],
): { paths: string[]; missing: [path: readonly string[], reason: string][] } {
  const paths: string[] = []
  const missing: [readonly string[], string][] = []
  for (const [key, path] of Object.entries(named)) {
    if (path === null || isAmong(problems, ['rules', key])) continue
    const reason = whyNoRules(path)
    if (reason === null) paths.push(path)
    else missing.push([['rules', key], reason])
  }
  return { paths, missing }
}

/**
 * Returns the problems of the test files among the paths, and adds their names to `checked`. Runs
 * no test.
 */
async function testFileProblems(paths: readonly string[], checked: Set<string>): Promise<readonly Problem[]> {
  const missing = await missingPaths(paths)
  const found = await findCaseFiles(paths.filter((path) => !missing.includes(path)))
  const { files, problems } = await loadCases(found.filter(isCasePath), false)
  for (const { file } of files) checked.add(file)
  return problems
}

function lint(
  files: Parameters<typeof lintRules>[0],
  found: readonly Problem[],
  configured: CheckedConfig | null,
): Remark[] {
  const snapshot = snapshotOf(files, found, { reader: configured?.reader ?? 'hub' })
  // A hub does not know what the configurations of its sidecars define.
  const config = configured?.config ?? null
  const openKinds = config === null ? [] : openKindsIn(config)
  const problems = configured?.reader === 'hub' ? snapshot.problems : problemsOf(snapshot, openKinds)
  if (problems.length > 0) return problems.map((problem) => ({ severity: 'error', problem }))
  return lintRules(files, configured === null ? null : contextOf(configured)).map((problem) => ({
    severity: 'warning',
    problem,
  }))
}
