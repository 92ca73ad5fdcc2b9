import { parseEgressAllow } from '../../src/kit/egress/allow-list.ts'
import { egressGuard } from '../../src/kit/egress/guard.ts'
import { never } from '../../src/providers/conformance/arrangement.ts'
import { type ContactIndex, openContactIndex } from '../../src/providers/conformance/contact-index.ts'
import type { ContactsProvider } from '../../src/providers/contacts.ts'
import { cardDavAccount } from '../../src/providers/dav/carddav.ts'
import { openFileThread } from '../../src/providers/dav/file-thread.ts'
import { LoginSchemes } from '../../src/providers/dav/login.ts'
import { type OddDav, type Oddities, startOddDav } from './odd-dav.ts'

const guard = egressGuard({ allow: parseEgressAllow(['127.0.0.1/32']) })

/** A card whose UID is its name. */
export const cardOf = (name: string, more = '') =>
  `BEGIN:VCARD\r\nVERSION:3.0\r\nUID:${name}\r\nFN:${name}\r\nN:${name};;;;\r\n${more}END:VCARD\r\n`

export interface OddAccount extends AsyncDisposable {
  dav: OddDav
  contacts: ContactsProvider
  index: ContactIndex
}

/** A server with cards of these names, and the index of its address book. */
export async function openOddAccount(
  oddities: Oddities,
  names: readonly string[] = ['a', 'b', 'c'],
): Promise<OddAccount> {
  await using stack = new AsyncDisposableStack()
  const dav = stack.use(await startOddDav(oddities))
  for (const name of names) dav.put(`${name}.vcf`, cardOf(name))
  const { home, login } = dav
  const signal = new AbortController().signal
  const schemes = new LoginSchemes()
  const files = stack.use(openFileThread())
  const options = { home, login, guard, files, authorities: undefined, schemes, signal }
  const account = stack.use(cardDavAccount(options))
  const [folder] = await account.contacts.listFolders(never)
  const owned = stack.move()
  return {
    dav,
    contacts: account.contacts,
    index: openContactIndex(folder!),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
