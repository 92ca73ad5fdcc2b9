import { configureGmail, openGmailClient } from '../../../../test/gmail/gmail-client.ts'
import { reachSandbox } from '../../../../test/gmail/reach-sandbox.ts'
import { startSandbox } from '../../../../test/servers/sandbox.ts'
import { useServer } from '../../../../test/servers/shared-server.ts'
import { describeLabelChanging, type LabelArrangement } from '../../conformance/changing-labels.ts'

const sandbox = useServer(async () => {
  const server = await startSandbox()
  await configureGmail(server, { quota: 'off' })
  return server
})

let users = 0

async function arrange(): Promise<LabelArrangement> {
  const server = sandbox()
  const email = `changing-${++users}@gmail.test`
  await server.addUser(email)
  const client = await openGmailClient(server, email)
  const reached = await reachSandbox(server, email)
  const named = async () => new Map((await client.labels()).map(({ id, name }) => [id, name]))
  return {
    connect: async () => reached.connect(),
    async deliver(raw, ...labels) {
      const ids = new Map([...(await named())].map(([id, name]) => [name, id]))
      return (
        await client.insert(
          raw,
          labels.map(label => ids.get(label)!),
        )
      ).id
    },
    async labelsOf(key) {
      const names = await named()
      const message = (await client.messages()).find(({ id }) => id === key)
      return message ? message.labelIds.map(id => names.get(id) ?? id).toSorted() : null
    },
    rawOf: key => client.rawOf(String(key)),
    createLabel: async name => void (await client.createLabel(name)),
    labels: async () =>
      (await client.labels())
        .filter(({ type }) => type === 'user')
        .map(({ name }) => name)
        .toSorted(),
    delete: key => client.delete(String(key)),
    async drafts() {
      const subjects = new Map((await client.messages()).map(({ id, subject }) => [id, subject]))
      const { drafts = [] } = await client.call(api => api.drafts.list())
      return new Map(drafts.map(({ id, message }) => [id!, subjects.get(message!.id!)!]))
    },
    editDraft: (id, raw) => client.updateDraft(id, raw),
    loseAnswer: async (method, path) =>
      void (await server.addFault({ does: 'lost', host: 'gmail.googleapis.com', method, path, count: 1 })),
    async [Symbol.asyncDispose]() {
      await server.clearFaults()
      await reached[Symbol.asyncDispose]()
    },
  }
}

describeLabelChanging('gmail', arrange)
