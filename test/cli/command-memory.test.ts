// Whether a container has room for a command, by the files in which Linux describes it.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { memoryFault } from '../../src/cli/command-memory.ts'

const MIB = 1024 ** 2

/** A container of 128 MiB in which this process has 30. */
function filesOf(
  t: Test,
  { usedMib, cachedMib, max = String(128 * MIB) }: { usedMib: number; cachedMib: number; max?: string },
) {
  const folder = t.testdir()
  const [group, self] = [join(folder, 'group'), join(folder, 'self')]
  for (const one of [group, self]) mkdirSync(one)
  writeFileSync(join(group, 'memory.max'), `${max}\n`)
  writeFileSync(join(group, 'memory.current'), `${usedMib * MIB}\n`)
  writeFileSync(
    join(group, 'memory.stat'),
    `anon 1\nfile 2\ninactive_file ${cachedMib * MIB}\nactive_file 3\n`,
  )
  writeFileSync(join(self, 'status'), `Name:\tnode\nVmRSS:\t 90000 kB\nRssAnon:\t ${30 * 1024} kB\n`)
  return { group, process: self }
}

t.test('what the command has already, and the cache of files, are room', async (t) => {
  t.equal(memoryFault(48 * MIB, filesOf(t, { usedMib: 110, cachedMib: 0 })), null)
  t.equal(memoryFault(48 * MIB, filesOf(t, { usedMib: 127, cachedMib: 40 })), null)
})

t.test('a command that would not fit is refused with a sentence', async (t) => {
  const fault = memoryFault(48 * MIB, filesOf(t, { usedMib: 120, cachedMib: 4 }))
  t.match(fault, /^this command needs 48 MiB of memory, and the container has 42 MiB left; /)
})

t.test('without a limit no command is refused', async (t) => {
  t.equal(memoryFault(2 ** 40, filesOf(t, { usedMib: 120, cachedMib: 0, max: 'max' })), null)
  t.equal(memoryFault(2 ** 40, { group: t.testdir(), process: '/nowhere' }), null)
})
