// Where GitHub looks for the files of annotations: from the root of what it checked out, wherever the command ran.

import { isAbsolute, relative, resolve } from 'node:path'

/** @param workspace what GITHUB_WORKSPACE says; a file outside of it keeps its name */
export function inWorkspace(file: string, workspace: string | undefined): string {
  if (workspace === undefined || workspace === '') return file
  const path = relative(workspace, resolve(file))
  return path.startsWith('..') || isAbsolute(path) ? file : path
}
