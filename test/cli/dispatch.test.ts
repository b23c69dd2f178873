// The command line as a whole: help, version, unknown commands and bad arguments; and the choice of the
// command.

import t from 'tap'
import { type Command, UsageError } from '../../src/cli/command.ts'
import { answer } from '../../src/cli/dispatch.ts'
import { runCli, runProgram, TextSink } from '../process/run-command.ts'

// Deadline of every wait in this file.
t.setTimeout(300_000)

t.test('each command of the built program has help, and exits with 2 on bad arguments', async (t) => {
  const overview = await runProgram(['--help'])
  t.equal(overview.code, 0)
  const commands = [...overview.stdout.matchAll(/^ {2}([a-z]+) {2,}\S/gm)].map(([, name]) => name ?? '')
  for (const command of ['serve', 'demo', 'keys']) t.ok(commands.includes(command), command)
  for (const command of commands) {
    const { code, stdout } = await runProgram([command, '--help'])
    t.equal(code, 0)
    t.match(stdout, `sidegate ${command}`)
    t.equal((await runCli([command, '--nonsense'])).code, 2)
  }
  t.match((await runCli(['--version'])).stdout, /^sidegate \d+\.\d+\.\d+\n$/)
  t.equal((await runCli([])).code, 2)
  t.match(await runCli(['dance']), { code: 2, stderr: /there is no command "dance"/ })
})

t.test('a mistyped command, action or option gets the nearest one', async (t) => {
  const cases: [args: string[], stderr: string][] = [
    [['chek'], 'sidegate: there is no command "chek"; did you mean check?\n'],
    [['check', '--cofig', 'x'], 'sidegate check: there is no option --cofig; did you mean --config?\n'],
    [['usage', '--formt=x'], 'there is no option --formt; did you mean --format?'],
    [['keys', 'create', '--nme', 'x'], 'there is no option --nme; did you mean --name?'],
    [['keys', 'list', '-x'], 'there is no option -x\n'],
    [
      ['keys', 'crate'],
      'sidegate keys: there is no action crate; did you mean create? (actions: create, list,',
    ],
    [['audit', 'exprt'], 'sidegate audit: there is no action exprt; did you mean export? (actions: verify,'],
    [['rules', 'lst'], 'sidegate rules: there is no action lst; did you mean list?'],
    [['audit'], 'sidegate audit: give an action: verify, public-key, export'],
    [['da\u202ence'], 'there is no command "da‹202E›nce"; these exist'],
  ]
  for (const [args, stderr] of cases) {
    const result = await runCli(args)
    t.equal(result.code, 2)
    t.ok(result.stderr.includes(stderr), result.stderr)
    t.notMatch(result.stderr, /positional/)
  }
})

t.test('the help of an action of audit has that action alone', async (t) => {
  const all = (await runCli(['audit', '--help'])).stdout
  const actions = [...new Set([...all.matchAll(/sidegate audit ([\w-]+) /g)].map(([, name]) => name!))]
  t.ok(actions.length > 5)
  for (const action of actions) {
    const { code, stdout } = await runCli(['audit', action, '--help'])
    t.equal(code, 0)
    t.same(
      new Set([...stdout.matchAll(/sidegate audit ([\w-]+) /g)].map(([, name]) => name)),
      new Set([action]),
    )
    t.match(stdout, new RegExp(`^${action} `, 'm'))
    t.match(stdout, /^Exit: 0/m)
    const paragraphs = stdout.split('\n\n').slice(1)
    for (const paragraph of paragraphs) t.ok(all.includes(paragraph), paragraph)
  }
  t.equal(
    (await runCli(['audit', '--format', 'x', 'erase', '-h'])).stdout,
    (await runCli(['audit', 'erase', '--help'])).stdout,
  )
})

t.test('dispatch passes the arguments on and returns the exit code of the command', async (t) => {
  const received: (readonly string[])[] = []
  const command: Command = {
    name: 'probe',
    summary: 'record the arguments',
    options: {},
    help: 'Usage: probe\n',
    async run(args) {
      received.push(args)
      if (args[0] === 'wrong') throw new UsageError('give another argument')
      if (args[0] === 'broken') throw new Error('the disk is full')
      return 1
    },
  }
  const [out, err] = [new TextSink(), new TextSink()]
  const ask = (...args: string[]) => answer(args, [command], { out, err, env: {} })
  t.equal(await ask('probe', 'a', '--b'), 1)
  t.equal(await ask('probe', 'wrong'), 2)
  t.equal(await ask('probe', 'broken'), 1)
  t.same(received, [['a', '--b'], ['wrong'], ['broken']])
  t.equal(
    err.text,
    'sidegate probe: give another argument\nsidegate probe --help lists the arguments\nsidegate probe: the disk is full\n',
  )
  t.equal(await ask(), 2)
  t.match(err.text, /^ {2}probe {2}record the arguments$/m, 'the names make room for the summaries')
})
