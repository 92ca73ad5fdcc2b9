import { changesAfter } from '../mailbox/change-log.ts'
import type { ChangeLog, ItemChange } from '../mailbox/message.ts'
import { deltaLink, type DeltaState, gone } from './delta-tokens.ts'
import type { MethodCall } from './method.ts'

/* The changes of a folder as a delta query reports them. */

export interface DeltaPage {
  readonly value: readonly object[]
  readonly link: Record<string, string>
}

/** The changes of one item since a moment. */
export interface Folded<Item> {
  readonly first: ItemChange<Item>
  readonly last: ItemChange<Item>
  /** Names of the properties that changed; null if the item came or left. */
  readonly fields: ReadonlySet<string> | null
}

/** The options with which a query began. */
export const optionsOf = ({ select, expand }: Pick<DeltaState, 'select' | 'expand'>) =>
  new Map([
    ...(select === null ? [] : [['select', select] as const]),
    ...(expand === null ? [] : [['expand', expand] as const]),
  ])

/** How the items of a later round are chosen and shown. */
export interface LaterPage<Item> {
  size: number
  isFitting(item: Item): boolean
  present(change: Folded<Item>): object
}

/** A page of a later round: the items that changed, each once, by the time of their last change. */
export function laterPage<Item extends { readonly immutableId: string }>(
  { mailbox, url }: Pick<MethodCall, 'mailbox' | 'url'>,
  log: ChangeLog<Item>,
  state: Omit<DeltaState, 'made'>,
  { size, isFitting, present }: LaterPage<Item>,
): DeltaPage {
  const changes = changesAfter(log, state.since)
  if (changes === null) throw gone(mailbox, state)
  const folded = foldedBy(changes, state.immutable).filter(
    ({ last, first }) =>
      isFitting(last.item) &&
      isAsked(state.changeType, last) &&
      // An item that came and went since the last round was never reported.
      !(last.kind === 'left' && first.kind === 'arrived' && !first.moved),
  )
  const page = folded.slice(0, size)
  const isDone = page.length === folded.length
  const since = isDone ? mailbox.lastChange : (page.at(-1)?.last.number ?? state.since)
  const link = deltaLink(mailbox, url, isDone ? 'delta' : 'next', { ...state, since })
  return { value: page.map(present), link }
}

/** Merges the changes of each item into one, in the order of their last changes. */
function foldedBy<Item extends { readonly immutableId: string }>(
  changes: readonly ItemChange<Item>[],
  immutable: boolean,
): Folded<Item>[] {
  const folded = new Map<string, Folded<Item>>()
  for (const change of changes) {
    const key = immutable ? change.item.immutableId : change.id
    const before = folded.get(key)
    folded.delete(key)
    const fields =
      change.kind === 'changed' && before?.fields !== null
        ? new Set([...(before?.fields ?? []), ...change.fields])
        : null
    folded.set(key, { first: before?.first ?? change, last: change, fields })
  }
  return [...folded.values()]
}

function isAsked(changeType: string | null, { kind }: Pick<ItemChange<unknown>, 'kind'>): boolean {
  if (changeType === null) return true
  return changeType.toLowerCase() === { arrived: 'created', changed: 'updated', left: 'deleted' }[kind]
}

/** The items, some of them twice by the settings of the sandbox. */
export function repeated({ graph }: MethodCall, items: readonly object[]): readonly object[] {
  const { repeats } = graph.settings
  return repeats === 0 ? items : [...items, ...items.filter(() => graph.random.float() < repeats)]
}
