import { type GraphClient, refusalOf } from '../graph/graph-client.ts'
import type { OtherContacts } from './other-contacts.ts'

const NOT_FOUND = 404

/** A client of Graph that adds to the default folder of a user, which has all contacts. */
export function graphContacts(client: GraphClient): OtherContacts {
  const list = () => client.all('contacts?$select=id,displayName,jobTitle')
  const change = async (displayName: string, work: (path: string) => Promise<unknown>) => {
    const found = (await list()).find(contact => contact.displayName === displayName)
    if (!found) return false
    try {
      await work(`contacts/${found.id}`)
      return true
    } catch (error) {
      if (refusalOf(error) !== NOT_FOUND) throw error
      return false
    }
  }
  return {
    add: async displayName => void (await client.ask('POST', 'contacts', { displayName })),
    rename: (from, to) => change(from, path => client.ask('PATCH', path, { displayName: to })),
    remove: displayName => change(displayName, path => client.ask('DELETE', path)),
    list: async () => (await list()).map(({ displayName, jobTitle }) => ({ displayName, jobTitle })),
  }
}
