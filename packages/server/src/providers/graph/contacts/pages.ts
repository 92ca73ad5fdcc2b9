import { hash } from 'node:crypto'
import { z } from 'zod'
import type { AskOptions } from '../api.ts'
import { beginDelta, continueDelta, type DeltaForm, type DeltaPage } from '../delta.ts'
import { CONTACT_FIELDS, type ContactItem, itemsSchema, LISTED_FIELDS, versionOf } from './contact.ts'
import type { ContactsConnection } from './contacts-connection.ts'
import { pathOfFolder } from './folders.ts'

/** Contacts of a page. The default of 10 would cost a call for every ten. */
const PER_PAGE = 200
const LISTED_PER_PAGE = 1_000
const PAGE_BYTES_MAX = 32 * 1024 * 1024
/** Pages of one list. */
const PAGES_MAX = 1_000
/** The last changes that a mark stands for. */
const MARKED = 20

const DELTA: DeltaForm<ContactItem> = {
  schema: itemsSchema,
  prefer: [`odata.maxpagesize=${PER_PAGE}`],
  answerBytesMax: PAGE_BYTES_MAX,
  // A field that is null was cleared.
  given: item => item,
}

/** Begins a walk through all contacts of a folder. @param isOfIds whether only their ids are wanted */
export function beginContacts(
  connection: ContactsConnection,
  folderId: string,
  isOfIds: boolean,
  options: AskOptions,
): Promise<DeltaPage<ContactItem>> {
  const path = `${pathOfFolder(folderId)}/contacts/delta`
  return beginDelta(connection, { ...DELTA, path, select: isOfIds ? LISTED_FIELDS : CONTACT_FIELDS }, options)
}

/** Throws `LinkExpired` if Graph does not know the link. */
export function continueContacts(
  connection: ContactsConnection,
  link: string,
  options: AskOptions,
): Promise<DeltaPage<ContactItem>> {
  return continueDelta(connection, link, DELTA, options)
}

/**
 * The contacts of a folder, page by page. A contact that comes or goes meanwhile may hide another one between two pages, so
 * a contact is not gone because no page has it.
 */
export async function* listContacts(
  { api }: Pick<ContactsConnection, 'api'>,
  folderId: string,
  isOfIds: boolean,
  options: AskOptions,
): AsyncGenerator<ContactItem[], void, void> {
  let page = (
    await api.ask(
      {
        path: `${pathOfFolder(folderId)}/contacts`,
        query: {
          $select: isOfIds ? LISTED_FIELDS : CONTACT_FIELDS,
          $top: isOfIds ? LISTED_PER_PAGE : PER_PAGE,
        },
        schema: itemsSchema,
        accepts: [200],
        answerBytesMax: PAGE_BYTES_MAX,
      },
      options,
    )
  ).value
  for (let pages = 1; ; pages += 1) {
    yield page.value
    const link = page['@odata.nextLink']
    if (link === undefined || pages >= PAGES_MAX) return
    page = await api.follow(link, itemsSchema, { ...options, answerBytesMax: PAGE_BYTES_MAX })
  }
}

const countedSchema = itemsSchema.extend({ '@odata.count': z.int().min(0) })

/** Stands for the number of contacts of a folder and its last changes: one call. It differs after most changes. */
export async function askMark(
  { api }: Pick<ContactsConnection, 'api'>,
  folderId: string,
  options: AskOptions,
): Promise<string> {
  const { value } = await api.ask(
    {
      path: `${pathOfFolder(folderId)}/contacts`,
      query: {
        $select: LISTED_FIELDS,
        $orderby: 'lastModifiedDateTime desc',
        $top: MARKED,
        $count: true,
      },
      schema: countedSchema,
      accepts: [200],
    },
    options,
  )
  const last = value.value.map(item => `${item.id} ${versionOf(item)}`).toSorted()
  return hash('sha256', [value['@odata.count'], ...last].join('\n'), 'base64url')
}
