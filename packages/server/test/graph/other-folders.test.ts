import { afterAll, beforeAll, expect, test } from 'vitest'
import { readMailboxes } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import {
  connectGraph,
  type GraphAccount,
  type GraphApp,
  openGraphApp,
  waitForPushes,
} from './open-graph-app.ts'

/* A push about any folder is read like one about the inbox: by itself, and by as many calls. */

let opened: GraphApp
beforeAll(async () => {
  // So rare that only pushes bring anything: the first pass without one comes at a random moment of this interval.
  opened = await openGraphApp({ pace: { pollSeconds: 86_400 } })
})
afterAll(() => opened[Symbol.asyncDispose]())

const ROLES = { inbox: 'inbox', sentitems: 'sent', archive: 'archive', deleteditems: 'trash' } as const
const FOLDERS = ['inbox', 'sentitems', 'archive', 'deleteditems', 'Projects'] as const

async function connectPushed(): Promise<{ account: GraphAccount; keys: Map<string, string> }> {
  const account = await connectGraph(opened, {
    messages: 20,
    arrange: async client => {
      await client.createFolder('Projects')
    },
  })
  await waitForPushes(opened, account)
  const keys = new Map<string, string>()
  for (const { id, displayName } of await account.client.all('mailFolders?$top=100'))
    keys.set(displayName, id)
  for (const name of Object.keys(ROLES))
    keys.set(name, (await account.client.ask('GET', `mailFolders/${name}`)).id)
  return { account, keys }
}

/** Adds a message to a folder by another client, and waits for its event. @returns the paths that the service read */
async function push(
  { account, keys }: Awaited<ReturnType<typeof connectPushed>>,
  folder: string,
  subject: string,
) {
  const { client } = account
  const { items: before } = await opened.sandbox.calls({ user: account.email })
  await client.ask('POST', `mailFolders/${keys.get(folder)}/messages`, {
    subject,
    toRecipients: [{ emailAddress: { address: 'ada@example.com' } }],
  })
  const event = await waitUntil(
    `the message in ${folder}`,
    async () =>
      (await account.feed()).find(
        ({ type, data }) => type === 'message.created' && data.message?.subject === subject,
      ) ?? null,
  )
  const { items } = await opened.sandbox.calls({ user: account.email, after: before.at(-1)!.id })
  const reads = items.filter(({ clientId, method }) => clientId === 'sandbox' && method === 'GET')
  return { event, paths: reads.map(({ path }) => path.replace(/^.*?\/users\/[^/]+\//, '')) }
}

test('a message in any folder comes with its push, by the calls that one in the inbox takes', async () => {
  const pushed = await connectPushed()
  const { account, keys } = pushed
  const mailboxes = await readMailboxes(opened.app, account.accountId)
  // The pass that the subscription has brought about ends before the first one is read.
  await push(pushed, 'inbox', 'The first')
  for (const folder of FOLDERS) {
    const { event, paths } = await push(pushed, folder, `In ${folder}`)
    const [mailboxId] = event.data.message!.mailboxIds
    const mailbox = mailboxes.find(({ id }) => id === mailboxId)!
    expect([mailbox.role, mailbox.name], folder).toContain(folder === 'Projects' ? folder : ROLES[folder])
    // The newest modifications, the changes of that folder, and the message: no other folder, and no list of them.
    const delta = `mailFolders/${encodeURIComponent(keys.get(folder)!)}/messages/delta`
    const calls = new Set(paths.map(path => (path.startsWith('messages/') ? 'a message' : path)))
    expect(calls, folder).toEqual(new Set(['messages', delta, 'a message']))
  }
})
