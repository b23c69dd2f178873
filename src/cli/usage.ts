// `sidegate usage`: sums the usage of a period, from the data directory of a running or stopped
// gateway.

import { systemClock } from '../core/clock.ts'
import { readConfig } from '../core/config.ts'
import { GatewayError } from '../core/errors.ts'
import { visibleLine } from '../core/hidden-characters.ts'
import { parseEndTime, parseTime } from '../core/time.ts'
import { StoreOpenError } from '../store/environment/lmdb.ts'
import { requireLog, SourceError } from '../store/verification/log-source.ts'
import type { UsageReport } from '../usage/report-plan.ts'
import {
  GATEWAY_FIELDS,
  type GroupField,
  readGroupFields,
  startOfMonth,
  type UsageReportQuery,
} from '../usage/report-query.ts'
import { reportColumns, reportCsv } from '../usage/report-table.ts'
import {
  type Command,
  type CommandIo,
  DEFAULT_CONFIG,
  defaultConfig,
  type ExitCode,
  parseOptions,
  printProblems,
  UsageError,
  writeLine,
} from './command.ts'
import { openConfiguredStore } from './open-store.ts'

const HELP = `Usage: sidegate usage [--by FIELDS] [--since TIME] [--until TIME]
                      [--format table|csv|json] [--config FILE]

Sums calls, tokens and costs of a period, from the data directory of a running or stopped
gateway on this machine. Most expensive rows are first. The sums outlive the entries of
the log: parts of days are kept for 62 days, whole UTC days for three years.

  --by FIELDS       ${GATEWAY_FIELDS.text},
                    separated by commas; of user, tool and run only one. Default: key
  --since TIME      start, RFC 3339 or a date such as 2026-03-01, rounded down to the
                    hour. Default: the start of this month, in UTC
  --until TIME      end, rounded up to the hour; a date includes its whole day.
                    Default: now
  --format FORMAT   table, csv or json. Default: table on a terminal, json in a pipe
  --config FILE     configuration (default ${DEFAULT_CONFIG})
  --help            print this text

A cost is in USD. "unpriced" are calls that used tokens and whose cost is not known; the
cost leaves them out. A call may have several tools or none, so the rows of tools do not
add up to the total; tokens and costs are those of the calls that call the tool.

Exit: 0 done, 1 the output cannot be written, 2 could not run.
`

const FORMATS = ['table', 'csv', 'json'] as const
type ReportFormat = (typeof FORMATS)[number]

const OPTIONS = {
  by: { type: 'string', default: 'key' },
  since: { type: 'string' },
  until: { type: 'string' },
  format: { type: 'string', takes: FORMATS },
  config: { type: 'string', takes: 'path' },
} as const

export const usage: Command = {
  name: 'usage',
  summary: 'sum calls, tokens and costs of a period',
  options: OPTIONS,
  help: HELP,
  async run(args, io): Promise<ExitCode> {
    const { values } = parseOptions(args, OPTIONS)
    const query = readQuery(values, systemClock.now())
    const format = readFormat(values.format, io)
    // The command does not need the gateway's secrets, so missing ones are ignored.
    const { config, problems } = readConfig(values.config ?? defaultConfig(), io.env, systemClock)
    if (config === null) {
      printProblems(io, problems, 'fix the configuration: it names the data directory')
      return 2
    }
    try {
      requireLog(config.data.path)
      const store = openConfiguredStore(config)
      try {
        print(await store.rollups.report(query), query.groupBy, format, io)
        return 0
      } finally {
        await store.close()
      }
    } catch (error) {
      if (error instanceof GatewayError && error.param !== null) throw new UsageError(optionMessage(error))
      if (!(error instanceof SourceError || error instanceof StoreOpenError)) throw error
      writeLine(io.err, `sidegate usage: ${error.message}`)
      return 2
    }
  },
}

interface QueryOptions {
  readonly by: string
  readonly since?: string
  readonly until?: string
}

function readQuery({ by, since, until }: QueryOptions, nowMs: number): UsageReportQuery {
  const groupBy = readGroupFields(by, GATEWAY_FIELDS)
  if (groupBy === null) throw new UsageError(`--by takes a list of ${GATEWAY_FIELDS.allowed}`)
  const sinceMs = since === undefined ? startOfMonth(nowMs) : readTime('since', parseTime(since))
  const untilMs = until === undefined ? nowMs : readTime('until', parseEndTime(until))
  return { groupBy, sinceMs, untilMs }
}

function readTime(option: string, timeMs: number | null): number {
  if (timeMs !== null) return timeMs
  throw new UsageError(`--${option} takes a time like 2026-03-01T12:00:00Z or a day`)
}

function readFormat(text: string | undefined, io: CommandIo): ReportFormat {
  if (text === undefined) return io.out.isTTY ? 'table' : 'json'
  const format = FORMATS.find((one) => one === text)
  if (format === undefined) throw new UsageError(`--format takes ${FORMATS.join(', ')}`)
  return format
}

/** Names the options instead of the parameters of the API. */
const optionMessage = ({ message }: GatewayError): string =>
  message
    .replace(/^group_by/, '--by')
    .replace(/^until must be later than since/, '--until must be later than --since')

function print(
  report: UsageReport,
  groupBy: readonly GroupField[],
  format: ReportFormat,
  io: CommandIo,
): void {
  if (format === 'json') writeLine(io.out, JSON.stringify(report))
  else if (format === 'csv') io.out.write(reportCsv(report, groupBy))
  else io.out.write(tableOf(report, groupBy))
  if (!report.complete)
    writeLine(
      io.err,
      'sidegate usage: a part of the period is older than what is counted; the sums leave it out',
    )
}

/** Returns a table with a line for each row and one for the total; numbers are on the right. */
function tableOf(report: UsageReport, groupBy: readonly GroupField[]): string {
  const { fields, sums } = reportColumns(groupBy)
  const columns = [...fields, ...sums]
  const lines = [
    columns,
    ...report.rows.map((row) => columns.map((column) => cellOf(row[column]))),
    columns.map((column, index) =>
      index === 0 ? 'total' : column in report.total ? cellOf(report.total[column]) : '',
    ),
  ]
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]!.length)))
  const padded = lines.map((line) =>
    line.map((cell, index) =>
      index < fields.length ? cell.padEnd(widths[index]!) : cell.padStart(widths[index]!),
    ),
  )
  const period = `${report.since} to ${report.until}, costs in USD`
  return `${period}\n${padded.map((line) => line.join('  ').trimEnd()).join('\n')}\n`
}

/** Hidden characters of a name could change the terminal. */
const cellOf = (value: unknown): string => visibleLine(String(value ?? '-'))
