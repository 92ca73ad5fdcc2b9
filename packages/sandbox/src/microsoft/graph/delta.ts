import { placeIn } from '../mailbox/messages.ts'
import type { Folder, Message } from '../mailbox/message.ts'
import { deltaLink, type DeltaState, stateOf } from './delta-tokens.ts'
import { badRequest } from './errors.ts'
import { type DeltaPage, type Folded, laterPage, optionsOf, repeated } from './item-changes.ts'
import { messageFilter } from './message-filter.ts'
import { presentMessage, presentSparse, type View, viewOf } from './message-shape.ts'
import { requireFolder } from './messages.ts'
import { type GraphAnswer, type GraphMethod, type MethodCall, ok, READ } from './method.ts'
import type { Filter } from './odata/filter.ts'
import { contextOf } from './odata/paging.ts'

const PAGE_DEFAULT = 10
const PAGE_MAX = 1_000

/** Number of messages after which a query with a filter ends, as if there were no more. */
const FILTERED_MAX = 5_000

/** The delta query of a folder's messages. */
export const deltaMethods: readonly GraphMethod[] = (
  [
    'mailFolders/{folder}/messages/delta',
    'mailFolders/{parent}/childFolders/{folder}/messages/delta',
  ] as const
).map(path => ({
  http: 'GET',
  path,
  scopes: READ,
  needs: 'messageDelta',
  options: ['select', 'expand', 'filter', 'orderby', 'skiptoken', 'deltatoken'],
  run: delta,
}))

/** A round of a query: its folder, and the options with which the query began. */
interface Round {
  readonly call: MethodCall
  readonly folder: Folder
  readonly state: Omit<DeltaState, 'made'>
  readonly view: View
  readonly filter: Filter<Message> | null
  readonly size: number
}

function delta(call: MethodCall): GraphAnswer {
  const { params, query, prefer, url } = call
  const folder = requireFolder(call, params['folder'])
  if (folder.search) throw badRequest('Search folders have no delta.', 'ErrorInvalidRequest')
  requireNewestFirst(query.options.get('orderby'))
  const state = stateOf(call, folder.id)
  const round: Round = {
    call,
    folder,
    state,
    view: viewOf({ ...query, options: optionsOf(state) }, prefer),
    filter: filterOf(state.filter),
    size: Math.min(prefer.pageSize ?? PAGE_DEFAULT, PAGE_MAX),
  }
  const { value, link } = state.walk ? walkPage(round, state.walk) : changesPage(round)
  return ok({
    '@odata.context': contextOf(url, 'Collection(message)'),
    ...link,
    value: repeated(call, value),
  })
}

/** Refuses any `$orderby` but the one that Graph takes, which is the order of a first round anyway. */
function requireNewestFirst(order: string | undefined): void {
  if (order !== undefined && !/^receivedDateTime\s+desc$/i.test(order.trim()))
    throw badRequest('Delta queries can be ordered by receivedDateTime desc only.', 'ErrorInvalidRequest')
}

/** Reads a `$filter`. Graph takes only a limit of the time of receipt. */
function filterOf(text: string | null): Filter<Message> | null {
  if (text === null) return null
  if (!/^\s*receivedDateTime\s+(?:ge|gt)\s+\S+\s*$/i.test(text))
    throw badRequest(
      "Delta queries can be filtered by 'receivedDateTime ge' or 'gt' only.",
      'ErrorInvalidRequest',
    )
  return messageFilter(text)
}

/** A page of the first round, which goes through the folder from its newest message. */
function walkPage(
  { call, folder, state, view, filter, size }: Round,
  walk: NonNullable<DeltaState['walk']>,
): DeltaPage {
  const { mailbox, url } = call
  const found: Message[] = []
  const told = () => walk.told + found.length
  const isFull = () => found.length === size || (filter !== null && told() >= FILTERED_MAX)
  let at = placeIn(folder.ordered, { receivedAt: walk.at, number: walk.number })
  if (folder.ordered[at]?.number === walk.number) at += 1
  for (; at < folder.ordered.length && !isFull(); at += 1) {
    const message = folder.ordered[at] as Message
    // Older messages do not fit a limit of the time of receipt either.
    if (filter && !filter.test(message)) break
    found.push(message)
  }
  const next = folder.ordered[at]
  const isDone = next === undefined || (filter !== null && (!filter.test(next) || told() >= FILTERED_MAX))
  const last = found.at(-1)
  const link = isDone
    ? deltaLink(mailbox, url, 'delta', { ...state, walk: null })
    : deltaLink(mailbox, url, 'next', {
        ...state,
        walk: { at: last?.receivedAt ?? walk.at, number: last?.number ?? walk.number, told: told() },
      })
  return { value: found.map(message => presentItem(message, view)), link }
}

/** A page of a later round: the messages that changed, by the time of their last change. */
function changesPage({ call, folder, state, view, filter, size }: Round): DeltaPage {
  return laterPage(call, folder.log, state, {
    size,
    isFitting: message => filter === null || filter.test(message),
    present: change => presentChange(call, change, view),
  })
}

function presentChange({ graph }: MethodCall, { last, fields }: Folded<Message>, view: View): object {
  if (last.kind === 'left')
    return {
      '@odata.type': '#microsoft.graph.message',
      '@removed': { reason: 'deleted' },
      id: view.immutableIds ? last.item.immutableId : last.id,
    }
  const isSparse = fields?.size === 1 && fields.has('isRead') && graph.random.float() < graph.settings.sparse
  return isSparse ? typed(presentSparse(last.item, view)) : presentItem(last.item, view)
}

const presentItem = (message: Message, view: View): object => typed(presentMessage(message, view))

/** Items of a delta name their type even if it is the usual one. */
const typed = (item: object): object => ({ '@odata.type': '#microsoft.graph.message', ...item })
