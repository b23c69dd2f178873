// `sidegate completion`: shells complete with its scripts, and the tables they are made from agree
// with the help.

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { COMMANDS } from '../../src/program.ts'
import { runCli } from '../process/run-command.ts'
import { temporaryFolder } from '../rules/fixture.ts'

/** A long option at the start of a line of a help text. */
const HELP_LINE = /^ {2}--([a-z-]+)/gm

t.test('the help of each command has its options, and no other', async (t) => {
  for (const { name, help, options, argument } of COMMANDS) {
    for (const option of Object.keys(options)) t.match(help, `--${option}`, `${name} --${option}`)
    const known = [...Object.keys(options), 'help']
    for (const [, option = ''] of help.matchAll(HELP_LINE))
      t.ok(known.includes(option), `${name} --${option}`)
    t.match(help, /^ {2}--help +print this text$/m, name)
    t.match(help, /^Exit: /m, name)
    if (argument === undefined || argument === 'path') continue
    for (const word of argument) t.match(help, word, `${name} ${word}`)
  }
})

t.test('another shell, and none, is an error that names those there are', async (t) => {
  t.match(await runCli(['completion', 'zhs']), {
    code: 2,
    stdout: '',
    stderr: /there is no shell zhs; did you mean zsh\? \(shells: bash, zsh or fish\)/,
  })
  t.match(await runCli(['completion']), { code: 2, stderr: /give a shell: bash, zsh or fish/ })
  t.match(await runCli(['completion', 'bash', 'zsh']), { code: 2, stderr: /unexpected argument zsh/ })
})

const namesOf = (start: string) => COMMANDS.map(({ name }) => name).filter((name) => name.startsWith(start))

/** Words that a shell offers after each line. The folder has `rules/` and `two words.yaml`. */
const OFFERED: readonly (readonly [line: string, offered: readonly string[]])[] = [
  ['sidegate ', namesOf('')],
  ['sidegate c', namesOf('c')],
  ['sidegate --', ['--help', '--version']],
  ['sidegate keys ', ['create', 'list', 'rotate', 'revoke', 'hash']],
  ['sidegate audit tr', ['trust-clock']],
  ['sidegate completion ', ['bash', 'zsh', 'fish']],
  ['sidegate check --f', ['--format', '--fail-on']],
  ['sidegate check --format ', ['pretty', 'github', 'json', 'junit']],
  ['sidegate keys create --capture m', ['metadata']],
  ['sidegate check ru', ['rules']],
  ['sidegate check two', ['two words.yaml']],
  ['sidegate serve --config ru', ['rules']],
  ['sidegate keys create --name ru', []],
  ['sidegate keys list --he', ['--help']],
]

/** `--option=value`, of which shells offer the value or the whole. */
const WITH_SIGN = ['sidegate usage --format=c', 'csv'] as const

const isInstalled = (shell: string): boolean => spawnSync(shell, ['--version']).status === 0

async function prepared(t: { teardown(remove: () => void): void }, shell: string) {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'rules'))
  writeFileSync(join(folder, 'two words.yaml'), '')
  const { code, stdout } = await runCli(['completion', shell])
  if (code !== 0) throw new Error(`completion ${shell} ended with ${code}`)
  writeFileSync(join(folder, '.script'), stdout)
  return folder
}

/** Runs a program of a shell and returns its lines. */
const linesOf = (folder: string, shell: string, args: readonly string[], input?: string): string[] =>
  execFileSync(shell, args, { cwd: folder, encoding: 'utf8', input, timeout: 60_000 })
    .split(/\r?\n/)
    .filter((line) => line !== '')

const sorted = (words: readonly string[]) => [...words].sort()

t.test('bash completes', async (t) => {
  const folder = await prepared(t, 'bash')
  const complete = (words: readonly string[]) =>
    linesOf(folder, 'bash', [
      '--norc',
      '-c',
      `source ./.script
       COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 ))
       _sidegate; printf '%s\\n' "\${COMPREPLY[@]}"`,
      'bash',
      ...words,
    ])
  for (const [line, offered] of OFFERED) t.same(sorted(complete(line.split(' '))), sorted(offered), line)
  t.same(complete(['sidegate', 'usage', '--format', '=', 'c']), ['csv'])
  t.same(complete(['sidegate', 'usage', '--format', '=']), ['table', 'csv', 'json'])
})

/** What a person types, with Tabs. */
const TYPED = [
  'sidegate comp\tf\t',
  'sidegate check --fail\twar\ttwo\t',
  'sidegate usage --format=c\t',
  'sidegate keys cre\t--name x --config ru\t',
  'sidegate audit trus\t--hel\t',
] as const
const GOT = [
  'GOT<completion>GOT<fish>',
  'GOT<check>GOT<--fail-on>GOT<warning>GOT<two words.yaml>',
  'GOT<usage>GOT<--format=csv>',
  'GOT<keys>GOT<create>GOT<--name>GOT<x>GOT<--config>GOT<rules>',
  'GOT<audit>GOT<trust-clock>GOT<--help>',
]
const COMMAND = 'source ./.script; sidegate() { printf "GOT<%s>" "$@"; echo; }'

for (const [shell, line, setUp] of [
  ['bash', 'bash --norc --noprofile -i', 'bind "set enable-bracketed-paste off"'],
  [
    'zsh',
    'zsh -f -i',
    'unset zle_bracketed_paste; PS1=; PROMPT_EOL_MARK=; autoload -U compinit; compinit -u -D',
  ],
] as const) {
  t.test(`a person who presses Tab in ${shell} gets the word`, async (t) => {
    const missing = [shell, 'script'].filter((program) => !isInstalled(program))
    if (missing.length > 0) {
      t.pass('Tab', { skip: `NOT TESTED: ${missing.join(' and ')} not installed` })
      return
    }
    const folder = await prepared(t, shell)
    const typed = [`${setUp}; ${COMMAND}`, ...TYPED, 'exit', ''].join('\n')
    const shown = linesOf(folder, 'script', ['-qec', line, '/dev/null'], typed)
    t.same(
      shown.flatMap((one) => /GOT<[^%]*>$/.exec(one)?.[0].replace('/>', '>') ?? []),
      GOT,
      shown.join('\n'),
    )
  })
}

t.test('fish completes', async (t) => {
  if (!isInstalled('fish')) {
    t.pass('fish', { skip: 'NOT TESTED: fish is not installed' })
    return
  }
  const folder = await prepared(t, 'fish')
  const complete = (line: string) =>
    linesOf(folder, 'fish', [
      '--no-config',
      '-c',
      `source ./.script; complete -C ${JSON.stringify(line)}`,
    ]).map((offered) => offered.replace(/\t.*$/, '').replace(/\/$/, ''))
  for (const [line, offered] of OFFERED) t.same(sorted(complete(line)), sorted(offered), line)
  t.same(complete(WITH_SIGN[0]), [`--format=${WITH_SIGN[1]}`])
})
