import { expect, test } from 'vitest'
import { addContact } from '../../../../sandbox/src/microsoft/mailbox/contacts.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { startGraph } from '../../../test/graph/graph-server.ts'
import { Secret } from '../../kit/secret.ts'
import { never } from '../conformance/arrangement.ts'

const server = useServer(startGraph)
const OLD = 'the-token-of-a-former-grant'
const DENIED = { status: 403, body: { error: { code: 'ErrorAccessDenied' } } }

/** A user whose token lacks a permission, and who has or has not signed in again since it was issued. */
function connect(email: string, hasSignedIn: boolean) {
  let held = new Secret(OLD)
  const looks: string[] = []
  const account = server().connect(email, {
    tokens: {
      get: async () => held,
      renew: async () => held,
      async findNewer(refused) {
        looks.push(refused.reveal())
        if (hasSignedIn) held = new Secret(email)
        return refused.reveal() === held.reveal() ? null : held
      },
    },
  })
  server().intercept = ({ path, headers }) => {
    if (headers.get('authorization') !== `Bearer ${OLD}`) return null
    const responses = ['1', '2'].map(id => ({ id, ...DENIED }))
    return path.endsWith('$batch')
      ? Response.json({ responses })
      : Response.json(DENIED.body, { status: DENIED.status })
  }
  return { ...account, looks }
}

test('a call that the token does not allow is repeated with that of a newer grant', async () => {
  const { email } = server().addUser()
  const { calendars, looks } = connect(email, true)
  expect(await calendars.listCalendars(never)).toHaveLength(1)
  expect(looks).toEqual([OLD])
})

test('the parts of a batch that the token does not allow are repeated as well', async () => {
  const { email, mailbox } = server().addUser()
  const keys = ['Ada', 'Ben'].map(
    displayName => addContact(mailbox, mailbox.contacts.main, { displayName }).immutableId,
  )
  const { contacts, looks } = connect(email, true)
  const read = await contacts.read(keys, never)
  expect(read.contacts.map(({ key }) => key)).toEqual(keys)
  expect(looks).toEqual([OLD])
})

test('a call that no grant allows is refused', async () => {
  const { email } = server().addUser()
  const { calendars, looks } = connect(email, false)
  await expect(calendars.listCalendars(never)).rejects.toMatchObject({ kind: 'forbidden' })
  expect(looks).toEqual([OLD])
})
