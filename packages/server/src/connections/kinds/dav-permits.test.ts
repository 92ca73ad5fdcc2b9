import { expect, test } from 'vitest'
import { MemoryBooks } from '../../../test/memory-contacts.ts'
import { HostBudget } from '../host-budget.ts'
import { permittedContacts } from './dav-permits.ts'

test('one permit is enough to follow a folder and to ask about its contacts in between', async () => {
  const books = new MemoryBooks('books')
  const [key = ''] = books.folders.keys()
  for (let nth = 0; nth < 120; nth++) books.add(key, { displayName: `Number ${nth}` })
  const budget = new HostBudget(1)
  const { signal } = new AbortController()
  const contacts = permittedContacts(books.connect(), {
    acquire: until => budget.acquire('dav.test', until),
    signal,
  })
  const [folder] = await contacts.listFolders(signal)
  const read: string[] = []
  const steps = contacts.follow({ folder: folder!, cursor: null, known: async () => new Map(), signal })
  for await (const step of steps) {
    if (step.type !== 'contacts') continue
    const keys = step.contacts.map(contact => contact.key)
    read.push(...(await contacts.read(keys.slice(0, 1), signal)).contacts.map(contact => contact.key))
  }
  expect(read.length).toBeGreaterThan(0)
  expect(budget.heldCount).toBe(0)
})
