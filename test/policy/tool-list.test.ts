import t from 'tap'
import { serverTool, storedPrompt, toolNamed, toolServer } from '../../src/core/tool-name.ts'
import { compileToolGlobs, compileToolList } from '../../src/policy/tool-list.ts'

const bash = toolNamed('bash')
const jira = toolServer('jira')
const remove = serverTool('jira', 'delete_issue')

const ROWS: [globs: string[], tool: ReturnType<typeof toolNamed>, isAllowed: boolean][] = [
  [[], bash, false],
  [['bash'], bash, true],
  [['Bash'], bash, false],
  [['b?sh'], bash, true],
  [['*', '!bash'], bash, false],
  [['!bash'], bash, false],
  [['!sh*'], bash, true],
  [['search_*', 'mcp:jira/*'], bash, false],
  // A server is allowed where some of its tools may be, and refused where all are.
  [['search_*', 'mcp:jira/*'], jira, true],
  [['mcp:jira'], jira, true],
  [['mcp:jira/read_*'], jira, true],
  [['mcp:git/*'], jira, false],
  [['m*k'], jira, true],
  [['*', '!mcp:jira/delete_*'], jira, true],
  [['*', '!mcp:jira/*'], jira, false],
  [['*', '!mcp:*'], jira, false],
  [['*', '!mcp:jira'], jira, false],
  // A tool of a server has the name of its server too.
  [['mcp:jira'], remove, true],
  [['mcp:jira/*'], remove, true],
  [['mcp:jira/read_*'], remove, false],
  [['*', '!mcp:jira/delete_*'], remove, false],
  [['*', '!mcp:jira'], remove, false],
  [['*', '!delete_issue'], remove, true],
  // Another name of the tool counts for both.
  [['web_search'], toolNamed('search', 'web_search'), true],
  [['*', '!web_search'], toolNamed('search', 'web_search'), false],
  // A name in disguise is refused by what it looks like, and not allowed by it.
  [['*', '!bash'], toolNamed('ｂａｓｈ'), false],
  [['bash'], toolNamed('ｂａｓｈ'), false],
  [['größe'], toolNamed('größe'), true],
  [['größe'], toolNamed('gro\u0308ße'), false],
  ...[
    'ba\u200bsh',
    '\u202ebash',
    'bash\ufe0f',
    'ba\u00adsh',
    'bash\u{e0041}',
    'ba\0sh',
    ' bash\n',
    '\ufeffbash',
  ].flatMap((name): (typeof ROWS)[number][] => [
    [['*', '!bash'], toolNamed(name), false],
    [['bash'], toolNamed(name), false],
    [['*', '!rm'], toolNamed(name), true],
  ]),
  [['*', '!a b'], toolNamed('a b'), false],
  // Letters of other scripts refuse as the Latin ones do that they look like; case counts.
  ...['bаsh', 'bаѕһ', 'b\u0336ash', 'ʙᴀꜱʜ', 'ｂаsh'].flatMap((name): (typeof ROWS)[number][] => [
    [['*', '!bash'], toolNamed(name), false],
    [['*', '!Bash'], toolNamed(name), true],
    [['bash'], toolNamed(name), false],
  ]),
  [['*', '!BASH'], toolNamed('ВАЅН'), false],
  [['*', '!bash'], toolNamed('ВАЅН'), true],
  [['*', '!send-*'], toolNamed('send‐mail'), false],
  [['*', '!mcp:jira/*'], toolServer('jіra'), false],
  [['*', '!mcp:jira'], serverTool('jіra', 'read'), false],
  [['*', '!bаsh'], bash, true],
  [['*', '!bash'], toolNamed('básh'), true],
  [['поиск_*'], toolNamed('поиск_а'), true],
  [['*', '!поиск'], toolNamed('поиск'), false],
  [['*', '!何？'], toolNamed('何か'), true],
  // Nobody sees which tools a stored prompt brings.
  [['*', '!bash'], storedPrompt('pmpt_1'), false],
  [['*'], storedPrompt('pmpt_1'), false],
  [['!bash'], storedPrompt('pmpt_1'), false],
  [['*', 'prompt:pmpt_1'], storedPrompt('pmpt_1'), true],
  [['prompt:*', '!prompt:pmpt_1'], storedPrompt('pmpt_1'), false],
]
for (const [globs, tool, isAllowed] of ROWS)
  t.test(`the list ${JSON.stringify(globs)} ${isAllowed ? 'allows' : 'refuses'} ${tool.name}`, async (t) => {
    t.equal(compileToolList(globs).allows(tool), isAllowed)
  })

t.test('the time for a server is bounded by its label and the globs', async (t) => {
  const label = 'a'.repeat(500)
  const glob = `${'*a'.repeat(63)}b`
  const start = process.cpuUsage()
  t.equal(compileToolList([glob]).allows(toolServer(label)), true)
  t.ok(process.cpuUsage(start).user < 1_000_000, 'backtracking would take longer than a second')
})

t.test('a list gives the same answer again, and to as many names as come', async (t) => {
  const list = compileToolList(['read_*', '!read_secret'])
  for (let round = 0; round < 2; round++) {
    for (let n = 0; n < 3000; n++) {
      if (!list.allows(toolNamed(`read_${n}`)) || list.allows(toolNamed(`write_${n}`))) t.fail(String(n))
    }
    t.equal(list.refuses(toolNamed('read_secret')), true)
    t.equal(list.allows({ ...toolNamed('read_x'), isPrompt: true }), false, 'a prompt of the name of a tool')
    t.equal(list.allows(toolNamed('write', 'read_also')), true, 'a further name counts')
    t.equal(list.allows(toolNamed('write')), false)
  }
})

t.test('globs of results name tools as lists do', async (t) => {
  const follows = compileToolGlobs(['web_*', 'mcp:*'])
  t.ok(follows(toolNamed('web_fetch')))
  t.ok(follows(remove))
  t.ok(follows(toolNamed('wеb_fetch')), 'a look-alike')
  t.notOk(follows(bash))
})
