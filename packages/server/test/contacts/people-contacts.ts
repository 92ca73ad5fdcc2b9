import type { OtherClient, Person } from '../people/other-client.ts'
import type { OtherContacts } from './other-contacts.ts'

/** Another client of the contacts of a Google user. */
export function peopleContacts(client: OtherClient): OtherContacts {
  const nameOf = ({ names = [] }: Person) => names[0]?.displayName ?? ''
  const change = async (displayName: string, work: (name: string) => Promise<unknown>) => {
    const found = (await client.list()).find(person => nameOf(person) === displayName)
    if (!found?.resourceName) return false
    try {
      await work(found.resourceName)
      return true
    } catch (error) {
      if (!String(error).includes(': 404')) throw error
      return false
    }
  }
  const named = (displayName: string) => ({ names: [{ unstructuredName: displayName }] })
  return {
    add: async displayName => void (await client.add(named(displayName))),
    rename: (from, to) => change(from, name => client.change(name, named(to))),
    remove: displayName => change(displayName, name => client.remove(name)),
    async list() {
      const people = await client.list()
      return people.map(person => ({
        displayName: nameOf(person),
        jobTitle: person.organizations?.[0]?.title ?? null,
      }))
    },
  }
}
