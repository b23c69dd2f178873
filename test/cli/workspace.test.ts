// Names of files in annotations of GitHub.

import { join, resolve } from 'node:path'
import t from 'tap'
import { inWorkspace } from '../../src/cli/workspace.ts'

t.test('a file in the workspace is named from its root', async (t) => {
  const workspace = resolve('..')
  t.equal(inWorkspace(join(workspace, 'rules/a.yaml'), workspace), join('rules', 'a.yaml'))
  t.equal(inWorkspace('a.yaml', resolve('.')), 'a.yaml')
})

t.test('a file outside the workspace keeps its name', async (t) => {
  t.equal(inWorkspace('/etc/rules.yaml', resolve('.')), '/etc/rules.yaml')
  t.equal(inWorkspace('../rules.yaml', resolve('.')), '../rules.yaml')
})

t.test('without a workspace a file keeps its name', async (t) => {
  for (const workspace of [undefined, '']) t.equal(inWorkspace('./a.yaml', workspace), './a.yaml')
})
