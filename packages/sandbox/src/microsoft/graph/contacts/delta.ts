import type { Contact, ContactFolder } from '../../mailbox/contact.ts'
import { deltaLink, type DeltaState, stateOf } from '../delta-tokens.ts'
import { type DeltaPage, type Folded, laterPage, optionsOf, repeated } from '../item-changes.ts'
import { type GraphAnswer, type GraphMethod, type MethodCall, ok, READ_CONTACTS } from '../method.ts'
import { contextOf } from '../odata/paging.ts'
import { type ContactView, contactViewOf, presentContact, presentSparseContact } from './contact-shape.ts'
import { LIST_PATHS, requireContactFolder } from './find.ts'

const PAGE_DEFAULT = 10
const PAGE_MAX = 1_000
const TYPE = '#microsoft.graph.contact'

/** The delta query of a folder's contacts. */
export const contactDeltaMethods: readonly GraphMethod[] = LIST_PATHS.map(path => ({
  http: 'GET',
  path: `${path}/delta`,
  scopes: READ_CONTACTS,
  needs: 'contactDelta',
  options: ['select', 'skiptoken', 'deltatoken'],
  run: delta,
}))

function delta(call: MethodCall): GraphAnswer {
  const { query, prefer, url } = call
  const folder = requireContactFolder(call)
  const state = stateOf(call, `contacts ${folder.id}`)
  const view = contactViewOf({ ...query, options: optionsOf(state) }, prefer)
  const size = Math.min(prefer.pageSize ?? PAGE_DEFAULT, PAGE_MAX)
  const { value, link } = state.walk
    ? walkPage(call, folder, state, { view, size, below: state.walk.number })
    : laterPage(call, folder.log, state, {
        size,
        isFitting: () => true,
        present: change => presentChange(call, change, view),
      })
  return ok({
    '@odata.context': contextOf(url, 'Collection(contact)'),
    ...link,
    value: repeated(call, value),
  })
}

/** A page of the first round, which goes through the folder from the contact that was made last. */
function walkPage(
  { mailbox, url }: MethodCall,
  folder: ContactFolder,
  state: Omit<DeltaState, 'made'>,
  { view, size, below }: { view: ContactView; size: number; below: number },
): DeltaPage {
  const left = [...folder.contacts]
    .filter(({ number }) => number < below)
    .toSorted((a, b) => b.number - a.number)
  const page = left.slice(0, size)
  const walk = { at: 0, number: page.at(-1)?.number ?? 0, told: 0 }
  const link =
    left.length <= size
      ? deltaLink(mailbox, url, 'delta', { ...state, walk: null })
      : deltaLink(mailbox, url, 'next', { ...state, walk })
  return { value: page.map(contact => typed(presentContact(contact, view))), link }
}

/** Later rounds may report only the properties that changed, by the settings of the sandbox. */
function presentChange({ graph }: MethodCall, { last, fields }: Folded<Contact>, view: ContactView): object {
  const { item, kind, id } = last
  if (kind === 'left')
    return {
      '@odata.type': TYPE,
      '@removed': { reason: 'deleted' },
      id: view.immutableIds ? item.immutableId : id,
    }
  const isSparse = fields !== null && graph.random.float() < graph.settings.sparse
  return typed(isSparse ? presentSparseContact(item, view, fields) : presentContact(item, view))
}

/** Items of a delta name their type even if it is the usual one. */
const typed = (item: object): object => ({ '@odata.type': TYPE, ...item })
