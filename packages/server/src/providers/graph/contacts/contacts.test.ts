import { afterAll, beforeAll } from 'vitest'
import { arrangeContacts } from '../../../../test/graph/arrange-contacts.ts'
import { type GraphServer, startGraph } from '../../../../test/graph/graph-server.ts'
import { describeContacts } from '../../conformance/contacts.ts'

let server: GraphServer

beforeAll(async () => {
  server = await startGraph()
})
afterAll(() => server[Symbol.asyncDispose]())

describeContacts('Graph', async () => arrangeContacts(server))
describeContacts('Graph without a delta', async () => arrangeContacts(server, 'china'))
