// `sidegate test`: runs the tests of the rules, which are files next to them.

import { dirname } from 'node:path'
import type { Config } from '../core/config.ts'
import { DEFAULT_PII_KINDS } from '../core/finding.ts'
import type { Problem } from '../core/problem.ts'
import { recognisedKinds } from '../core/recogniser-config.ts'
import { loadInjectionModel } from '../detect/injection/score.ts'
import { kindSet } from '../detect/pii/kinds.ts'
import { findCaseFiles, isCasePath, loadCases } from '../rulecheck/cases.ts'
import { compareCases, type Verdict } from '../rulecheck/compare.ts'
import { formatRemarks, formatVerdicts, type Remark, VERDICT_FORMATS } from '../rulecheck/report.ts'
import { missingPaths } from '../rulecheck/rule-sources.ts'
import type { CaseEnvironment } from '../rulecheck/run-case.ts'
import { chooseFormat } from './check.ts'
import {
  type Command,
  type CommandIo,
  DEFAULT_CONFIG,
  defaultConfig,
  type ExitCode,
  parseArguments,
  printProblems,
  UsageError,
  writeLine,
} from './command.ts'
import { usableConfig } from './usable-config.ts'
import { inWorkspace } from './workspace.ts'

const HELP = `Usage: sidegate test [PATH…] [--config FILE] [--format FORMAT]

Runs the tests of rules: files named *_test.yaml, next to the rules they test. A PATH is
a test file or a folder of them; the default is the rules folder of the configuration.
Each case states the expected result of a request and its answer. An answer is also
streamed in many random chunks, which must give the same result. Token limits are not
tested, because they depend on traffic. Pseudonyms come from a fixed key. Recognisers
are left out, which the command says.

  --config FILE    configuration that says which personal data is detected
                   (default when no PATH is given:
                   ${DEFAULT_CONFIG})
  --format FORMAT  pretty, github, tap, junit or json (default github where
                   GITHUB_ACTIONS is true, else pretty)
  --help           print this text

Exit: 0 all passed, 1 some failed, 2 could not run (no tests, errors in a file).
`

const OPTIONS = {
  config: { type: 'string', takes: 'path' },
  format: { type: 'string', takes: VERDICT_FORMATS },
} as const

export const test: Command = {
  name: 'test',
  summary: 'run the tests of the rules (*_test.yaml)',
  options: OPTIONS,
  argument: 'path',
  help: HELP,
  async run(args, io): Promise<ExitCode> {
    const { values, positionals } = parseArguments(args, OPTIONS)
    const format = chooseFormat(values.format, VERDICT_FORMATS, io)
    const configFile = values.config ?? (positionals.length === 0 ? defaultConfig() : null)
    const config = configFile === null ? null : usableConfig(configFile, io)
    const paths = positionals.length > 0 || config === null ? positionals : [rulesFolder(config)]
    const files = await caseFiles(paths)
    const { files: loaded, problems } = await loadCases(files)
    if (problems.length > 0) {
      if (format === 'github')
        io.out.write(
          formatRemarks(
            problems.map((problem) => errorRemark(problem, io)),
            files,
            format,
          ),
        )
      printProblems(io, problems, 'no test was run')
      return 2
    }
    if (loaded.every(({ cases }) => cases.length === 0)) {
      throw new UsageError(`there are no tests in ${paths.join(', ')}; tests are files named *_test.yaml`)
    }
    const verdicts = await compareCases(loaded, benchOf(config))
    const shown = format === 'github' ? verdicts.map((verdict) => relocated(verdict, io)) : verdicts
    warnOfRecognisers(config, io)
    io.out.write(formatVerdicts(shown, format, recognisersLeftOut(config)))
    return verdicts.every(({ mismatches }) => mismatches.length === 0) ? 0 : 1
  },
}

/** Names files as GitHub finds them. */
const workspaceFile = (file: string, { env }: Pick<CommandIo, 'env'>): string =>
  inWorkspace(file, env['GITHUB_WORKSPACE'])

const errorRemark = (problem: Problem, io: Pick<CommandIo, 'env'>): Remark => ({
  severity: 'error',
  problem: { ...problem, file: workspaceFile(problem.file, io) },
})

const relocated = ({ test, mismatches }: Verdict, io: Pick<CommandIo, 'env'>): Verdict => ({
  test: { ...test, file: workspaceFile(test.file, io) },
  mismatches,
})

/**
 * Finds the test files in files and folders.
 * @throws UsageError (rejects) for a path that is missing or is not a test
 */
export async function caseFiles(paths: readonly string[]): Promise<string[]> {
  const missing = await missingPaths(paths)
  if (missing.length > 0) throw new UsageError(`there is no file or folder ${missing.join(', ')}`)
  const files = await findCaseFiles(paths)
  const other = files.find((file) => !isCasePath(file))
  if (other !== undefined) throw new UsageError(`${other} is not a test; tests are files named *_test.yaml`)
  return files
}

/** Names of the recognisers that a command without a gateway does not ask. */
export const recognisersLeftOut = (config: Pick<Config, 'recognisers'> | null): readonly string[] =>
  config?.recognisers.map(({ name }) => name) ?? []

/** Says on `err` which recognisers are not asked, and what is not found without them. */
export function warnOfRecognisers(
  config: Pick<Config, 'recognisers'> | null,
  { err }: Pick<CommandIo, 'err'>,
): void {
  const names = recognisersLeftOut(config)
  if (config === null || names.length === 0) return
  const kinds = recognisedKinds(config.recognisers).join(', ')
  writeLine(
    err,
    `warning: left out here are the recognisers of the configuration: ${names.join(', ')}; a running gateway also finds what they find: ${kinds}`,
  )
}

/** The key of pseudonyms in tests, so that every machine expects the same ones. */
const TEST_KEY = 'the key of pseudonyms in sidegate test'

/**
 * Returns the detectors that a configuration names, or the default ones.
 * @param key of pseudonyms
 */
export function benchOf(config: Config | null, key = TEST_KEY): CaseEnvironment {
  const { kinds, binaryParts, placeholders, embeddings } = config?.pii ?? {
    ...{ kinds: DEFAULT_PII_KINDS, binaryParts: 'pass', placeholders: 'brackets', embeddings: 'pseudonym' },
  }
  return {
    kinds: kindSet(kinds),
    injection: loadInjectionModel(),
    binaryParts,
    placeholderStyle: placeholders,
    pseudonyms: { key: () => key, inEmbeddings: embeddings === 'pseudonym' },
  }
}

const rulesFolder = ({ rules: { path } }: Config): string => (/\.ya?ml$/.test(path) ? dirname(path) : path)
