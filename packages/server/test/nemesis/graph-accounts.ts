import { actThere } from '../graph/act-there.ts'
import { CONTACT_SCOPES } from '../graph/contacts-account.ts'
import { OWN_SCOPES, connectUser } from '../graph/delegates.ts'
import { readTrueMailboxes } from '../graph/graph-truth.ts'
import { callerOf } from '../caller.ts'
import type { Random } from '../seeded.ts'
import type { OtherClient } from '../sync/other-client.ts'
import type { AccountKind, MadeAccount } from './accounts.ts'
import { KINDS_WITH_BOOKS } from './address-books.ts'
import type { Bed } from './bed.ts'
import { openGraphBook } from './graph-book.ts'
import { inBatchesOf } from './in-batches.ts'
import { letterTo } from './letters.ts'
import type { Office } from './office.ts'
import { KINDS_WITH_CALENDARS, openGraphCalendars } from './run-calendars.ts'

const AT_ONCE = 6
const LETTERS = 15
const FOLDERS = ['Made 1', 'Made 2']
/** The other client numbers its contents and folders from here on. */
const FIRST_NUMBER = 100
const KINDS = ['foreign', 'changed', 'sending', 'granted'] as const satisfies readonly AccountKind[]

/** Makes users of Microsoft with mail, and connects them. */
export function openGraphAccounts(bed: Bed, count: number, random: Random): Promise<MadeAccount[]> {
  const numbers = Array.from({ length: count }, (_, number) => number)
  return inBatchesOf(AT_ONCE, numbers, number => openGraphAccount(bed, number, random))
}

async function openGraphAccount(bed: Bed, number: number, random: Random): Promise<MadeAccount> {
  const { office } = bed
  const email = `user-${number}@office.test`
  const kind = KINDS[number % KINDS.length]!
  await office.addUser(email)
  for (let nth = 0; nth < LETTERS; nth++) await office.sandbox.deliver(email, letterTo(email, nth).raw)
  const client = kind === 'foreign' ? await openForeign(office, email, random.fork(email)) : null
  const caller = callerOf(bed.addresses()[0] ?? '', bed.key)
  const hasBook = number % KINDS.length < KINDS_WITH_BOOKS
  const book = hasBook
    ? await openGraphBook(() => office.openClient(email), random.fork(`contacts of ${email}`))
    : null
  const hasCalendars = number % KINDS.length < KINDS_WITH_CALENDARS
  const calendars = hasCalendars
    ? await openGraphCalendars(office, email, random.fork(`calendars of ${email}`))
    : null
  const { id } = await connectUser(caller, office.sandbox, email, {
    scopes: [...(hasBook ? CONTACT_SCOPES : OWN_SCOPES), ...(hasCalendars ? ['Calendars.ReadWrite'] : [])],
    settings: {
      calendarEnabled: hasCalendars,
      contactsEnabled: hasBook,
      sharedMailboxesEnabled: false,
      bodyStorage: kind === 'changed' ? 'full' : 'none',
    },
  })
  const account = {
    id,
    user: { user: email, email, password: '' },
    readTruth: async () => readTrueMailboxes(await office.openClient(email)),
    book,
    calendars,
  }
  return { account, kind, client }
}

/** Another client of the mailbox, which makes some folders first. */
async function openForeign(office: Office, email: string, random: Random): Promise<Pick<OtherClient, 'act'>> {
  const first = await office.openClient(email)
  for (const name of FOLDERS) await first.createFolder(name)
  let number = FIRST_NUMBER
  return {
    act: async () =>
      actThere({
        client: await office.openClient(email),
        random,
        hasPermanentDelete: true,
        next: () => ++number,
        deliver: message => office.sandbox.deliver(email, message),
      }),
  }
}
