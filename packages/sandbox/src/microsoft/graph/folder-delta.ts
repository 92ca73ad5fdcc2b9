import type { Folder } from '../mailbox/message.ts'
import { foldersBelow } from '../mailbox/folder.ts'
import type { Mailbox } from '../mailbox/mailbox.ts'
import { deltaLink, type DeltaState, stateOf } from './delta-tokens.ts'
import { folderViewOf, type FolderView, presentFolder, rootOf } from './folder-shape.ts'
import { type GraphAnswer, type GraphMethod, type MethodCall, ok, READ } from './method.ts'
import { contextOf } from './odata/paging.ts'

const PAGE_DEFAULT = 10
const PAGE_MAX = 1_000

/** The delta query of the folders of a mailbox. It does not report that counts changed. */
export const folderDeltaMethods: readonly GraphMethod[] = [
  {
    http: 'GET',
    path: 'mailFolders/delta',
    scopes: READ,
    needs: 'folderDelta',
    options: ['select', 'skiptoken', 'deltatoken'],
    run: delta,
  },
]

function delta(call: MethodCall): GraphAnswer {
  const { mailbox, query, prefer, url } = call
  const state = stateOf(call, 'mailFolders')
  const options = new Map(state.select === null ? [] : [['select', state.select] as const])
  const view = folderViewOf({ ...query, options })
  const size = Math.min(prefer.pageSize ?? PAGE_DEFAULT, PAGE_MAX)
  const { value, link } = state.walk
    ? walkPage(call, state, state.walk, size)
    : changesPage(call, state, size)
  return ok({
    '@odata.context': contextOf(url, 'Collection(mailFolder)'),
    ...link,
    value: value.map(change => presentChange(mailbox, change, view)),
  })
}

interface Change {
  readonly kind: 'changed' | 'removed'
  readonly folder: Folder
}

interface DeltaPage {
  readonly value: readonly Change[]
  readonly link: Record<string, string>
}

/** A page of the first round, in which the folders that were made last come first. */
function walkPage(
  { mailbox, url }: MethodCall,
  state: Omit<DeltaState, 'made'>,
  walk: NonNullable<DeltaState['walk']>,
  size: number,
): DeltaPage {
  const left = shownFolders(mailbox)
    .filter(({ number }) => number < walk.number)
    .toSorted((a, b) => b.number - a.number)
  const page = left.slice(0, size)
  const last = page.at(-1)
  const link =
    left.length <= size
      ? deltaLink(mailbox, url, 'delta', { ...state, walk: null })
      : deltaLink(mailbox, url, 'next', { ...state, walk: { ...walk, number: last?.number ?? walk.number } })
  return { value: page.map(folder => ({ kind: 'changed', folder })), link }
}

/** A page of a later round: the folders that changed, by the time of their last change. */
function changesPage({ mailbox, url }: MethodCall, state: Omit<DeltaState, 'made'>, size: number): DeltaPage {
  const shown = new Set(shownFolders(mailbox))
  const changes = [...mailbox.hierarchyLog.values()].filter(
    ({ number, kind, folder }) => number > state.since && (kind === 'removed' || shown.has(folder)),
  )
  const page = changes.slice(0, size)
  const isDone = page.length === changes.length
  const since = isDone ? mailbox.lastChange : (page.at(-1)?.number ?? state.since)
  return { value: page, link: deltaLink(mailbox, url, isDone ? 'delta' : 'next', { ...state, since }) }
}

function shownFolders(mailbox: Mailbox): Folder[] {
  const root = rootOf(mailbox)
  return [...foldersBelow(root)].filter(folder => folder !== root && !folder.isHidden)
}

const presentChange = (mailbox: Mailbox, { kind, folder }: Change, view: FolderView): object =>
  kind === 'removed'
    ? { '@odata.type': '#microsoft.graph.mailFolder', '@removed': { reason: 'deleted' }, id: folder.id }
    : { '@odata.type': '#microsoft.graph.mailFolder', ...presentFolder(mailbox, folder, view) }
