// Names files relative to the root of the checkout, where GitHub finds the files of annotations.

import { isAbsolute, relative, resolve } from 'node:path'

/** @param workspace value of GITHUB_WORKSPACE; a file outside it keeps its name */
export function inWorkspace(file: string, workspace: string | undefined): string {
  if (workspace === undefined || workspace === '') return file
  const path = relative(workspace, resolve(file))
  return path.startsWith('..') || isAbsolute(path) ? file : path
}
