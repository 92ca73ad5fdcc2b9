import { afterAll, beforeAll } from 'vitest'
import { arrangeGraph } from '../../../test/graph/arrange-graph.ts'
import { type GraphServer, startGraph } from '../../../test/graph/graph-server.ts'
import { describeContent } from '../conformance/content.ts'
import { describeMail } from '../conformance/mail.ts'
import { describeSearch } from '../conformance/search.ts'

let server: GraphServer

beforeAll(async () => {
  server = await startGraph()
})
afterAll(() => server[Symbol.asyncDispose]())

describeMail('Graph', () => arrangeGraph(server))
describeContent('Graph', () => arrangeGraph(server))
describeSearch('Graph', () => arrangeGraph(server))
