import type { Folder } from './message.ts'

/** The folder itself, and all folders below it. */
export function* foldersBelow(folder: Folder): Generator<Folder> {
  yield folder
  for (const child of folder.children) yield* foldersBelow(child)
}
