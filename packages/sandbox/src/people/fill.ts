import { PEOPLE } from '../mail/words.ts'
import { addContact, type Book, type Item, setPhoto } from './book.ts'
import { storedContents } from './person.ts'

const ORGANIZATIONS = ['Analytical Engines Ltd.', 'Harbour & Sons', 'Röntgen Optics'] as const
const TITLES = ['Engineer', 'Head of Sales', 'Gardener'] as const

/** A square in PNG, as a photo. */
const PHOTO = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGPQKDuCFTEMLQkAz8hU8e3hTaMAAAAASUVORK5CYII=',
  'base64',
)

/** Fills a new book with the persons of the seeded mail, in several shapes. */
export function fillBook(book: Book): void {
  const { random } = book
  for (const [at, { name, email }] of PEOPLE.entries()) {
    if (email === book.email) continue
    const words = name.split(' ')
    const isPlain = words.length === 2
    const names: Item[] =
      name === ''
        ? []
        : [isPlain ? { givenName: words[0], familyName: words[1] } : { unstructuredName: name }]
    const contact = addContact(
      book,
      storedContents({
        names,
        emailAddresses: [{ value: email, type: isPlain ? 'home' : 'work' }],
        phoneNumbers: at % 2 === 0 ? [{ value: `+44 20 7946 0${random.digits(3)}`, type: 'mobile' }] : [],
        organizations: at % 3 === 0 ? [{ name: random.pick(ORGANIZATIONS), title: random.pick(TITLES) }] : [],
        birthdays:
          at % 4 === 0 ? [{ date: { month: 1 + random.integer(12), day: 1 + random.integer(28) } }] : [],
        biographies: at % 4 === 1 ? [{ value: 'Met at the conference.\nLikes trains.' }] : [],
        memberships: [{ contactGroupMembership: { contactGroupResourceName: 'contactGroups/myContacts' } }],
      }),
    )
    if (at % 4 === 0) setPhoto(book, contact, { contentType: 'image/png', bytes: PHOTO })
  }
}
