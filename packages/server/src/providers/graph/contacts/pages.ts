import type { AskOptions } from '../api.ts'
import { beginDelta, continueDelta, type DeltaForm, type DeltaPage } from '../delta.ts'
import { CONTACT_FIELDS, LISTED_FIELDS } from './contact.ts'
import { type GraphItem, itemsSchema } from '../items.ts'
import type { ContactsConnection } from './contacts-connection.ts'
import { pathOfFolder } from './folders.ts'

/** Contacts of a page. The default of 10 would cost a call for every ten. */
const PER_PAGE = 200
const LISTED_PER_PAGE = 1_000
const PAGE_BYTES_MAX = 32 * 1024 * 1024
/** Pages of one list. */
const PAGES_MAX = 1_000

const DELTA: DeltaForm<GraphItem> = {
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
): Promise<DeltaPage<GraphItem>> {
  const path = `${pathOfFolder(folderId)}/contacts/delta`
  const query = { $select: isOfIds ? LISTED_FIELDS : CONTACT_FIELDS }
  return beginDelta(connection, { ...DELTA, path, query }, options)
}

/** Throws `LinkExpired` if Graph does not know the link. */
export function continueContacts(
  connection: ContactsConnection,
  link: string,
  options: AskOptions,
): Promise<DeltaPage<GraphItem>> {
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
): AsyncGenerator<GraphItem[], void, void> {
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
