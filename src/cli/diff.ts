// `sidegate diff`: reports the effect of a change of rules, for its review.

import { loadCases } from '../rulecheck/cases.ts'
import { compareRuleSets, type RecordedExchange } from '../rulecheck/difference.ts'
import { readRecording } from '../rulecheck/replay.ts'
import { counted, DIFFERENCE_FORMATS, formatDifference } from '../rulecheck/report.ts'
import { missingPaths, readSources } from '../rulecheck/rule-sources.ts'
import { snapshotOf } from '../rules/snapshot.ts'
import { chooseFormat } from './check.ts'
import {
  type Command,
  type ExitCode,
  parseArguments,
  printProblems,
  UsageError,
  writeLine,
} from './command.ts'
import { benchOf, caseFiles, recognisersLeftOut, warnOfRecognisers } from './test.ts'
import { usableConfig } from './usable-config.ts'

const HELP = `Usage: sidegate diff OLD NEW [--tests PATH] [--replay FILE] [--format FORMAT]

Compares two rule sets: rule files, folders or ConfigMap manifests. Reports which rules
were added, removed or changed, field by field, and which test cases and recorded
requests have a different result. Prints no text of a request.

  --tests PATH     a *_test.yaml file or a folder of them; may be repeated
                   (the \`rules\` in them are ignored)
  --replay FILE    JSON Lines: each a chat request body, or an object with
                   \`request\` and, if known, \`key_name\` and \`response\`; or an
                   export of sidegate audit export --exchanges, whose calls are named
                   by line and id; may be repeated
  --config FILE    configuration that says which personal data is detected; its
                   recognisers are left out, which the command says
  --format FORMAT  pretty (default), markdown (a comment for reviewers) or json
  --help           print this text

Exit: 0 no difference, 1 differences, 2 could not run; as in diff(1).
`

const OPTIONS = {
  tests: { type: 'string', multiple: true, takes: 'path' },
  replay: { type: 'string', multiple: true, takes: 'path' },
  config: { type: 'string', takes: 'path' },
  format: { type: 'string', takes: DIFFERENCE_FORMATS },
} as const

export const diff: Command = {
  name: 'diff',
  summary: 'compare two rule sets and their effect',
  options: OPTIONS,
  argument: 'path',
  help: HELP,
  async run(args, io): Promise<ExitCode> {
    const { values, positionals } = parseArguments(args, OPTIONS)
    const [old, next, ...rest] = positionals
    if (old === undefined || next === undefined || rest.length > 0) throw new UsageError('give OLD and NEW')
    const format = chooseFormat(values.format, DIFFERENCE_FORMATS, io)
    const missing = await missingPaths([old, next, ...(values.replay ?? [])])
    if (missing.length > 0) throw new UsageError(`there is no file or folder ${missing.join(', ')}`)
    const config = values.config === undefined ? null : usableConfig(values.config, io)
    const bench = benchOf(config)
    const [before, after] = [await rulesIn(old), await rulesIn(next)]
    const cases = await loadCases(await caseFiles(values.tests ?? []), false)
    const recordings = await Promise.all((values.replay ?? []).map((file) => readRecording(file)))
    const problems = [
      ...before.problems,
      ...after.problems,
      ...cases.problems,
      ...recordings.flatMap((recording) => recording.problems),
    ]
    if (problems.length > 0) {
      printProblems(io, problems, 'nothing was compared')
      return 2
    }
    const tests = cases.files.flatMap((file): RecordedExchange[] =>
      file.cases.map((one) => ({ ...one, where: `${one.file}:${one.line} ${one.name}` })),
    )
    const exchanges = [...tests, ...recordings.flatMap((recording) => recording.exchanges)]
    for (const [index, { withoutExchange }] of recordings.entries()) {
      if (withoutExchange > 0)
        writeLine(io.err, `${values.replay?.[index]}: ${describeSkipped(withoutExchange)}`)
    }
    const difference = await compareRuleSets(before.rules, after.rules, exchanges, bench)
    if (exchanges.length > 0) warnOfRecognisers(config, io)
    io.out.write(formatDifference(difference, format, recognisersLeftOut(config)))
    return difference.rules.length + difference.exchanges.length === 0 ? 0 : 1
  },
}

const describeSkipped = (calls: number): string =>
  `${counted(calls, 'call')} skipped because the export has no exchange of ${calls === 1 ? 'it' : 'them'}`

async function rulesIn(path: string) {
  const { files, problems } = await readSources([path])
  return snapshotOf(files, problems)
}
