import type { GraphClient } from '../graph/graph-client.ts'
import { refusalOf } from '../graph/graph-client.ts'
import type { Random } from '../seeded.ts'
import { type AddressBook, CARDS, CARDS_MAX, NAME_OF_OTHERS } from './address-books.ts'
import { inWords } from './cards.ts'

const NOT_FOUND = 404
const FIELDS = 'id,displayName,nickName,personalNotes'

/** The contacts of a user of Microsoft, which another program of their owner changes as well. */
export async function openGraphBook(
  openClient: () => Promise<GraphClient>,
  random: Random,
): Promise<AddressBook> {
  let made = 0
  const list = async (client: GraphClient) => client.all(`contacts?$select=${FIELDS}`)
  const note = () => `note ${random.between(1, 1_000_000)}`
  const add = (client: GraphClient) =>
    client.ask('POST', 'contacts', { displayName: `${NAME_OF_OTHERS} ${++made}`, personalNotes: note() })
  const first = await openClient()
  for (let count = 0; count < CARDS; count++) await add(first)
  return {
    async readCards() {
      const contacts = await list(await openClient())
      return contacts
        .map(({ displayName, nickName, personalNotes }) =>
          inWords(displayName, nickName ?? '', personalNotes ?? ''),
        )
        .toSorted()
    },
    async act() {
      const client = await openClient()
      const contacts = await list(client)
      if (contacts.length === 0 || (contacts.length < CARDS_MAX && random.chance(0.3))) return add(client)
      const { id, displayName } = random.pick(contacts)
      // Contacts that the API has made are only changed.
      const isRemoved = displayName.startsWith(NAME_OF_OTHERS) && random.chance(0.25)
      try {
        await (isRemoved
          ? client.ask('DELETE', `contacts/${id}`)
          : client.ask('PATCH', `contacts/${id}`, { personalNotes: note() }))
      } catch (error) {
        // The API may have deleted it meanwhile.
        if (refusalOf(error) !== NOT_FOUND) throw error
      }
    },
  }
}
