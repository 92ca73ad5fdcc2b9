import { AuthenticationHandler, Client, type Context } from '@microsoft/microsoft-graph-client'
import type { Cloud } from '../../src/microsoft/clouds.ts'

/** The preference for ids that outlast moves. */
export const IMMUTABLE = { prefer: 'IdType="ImmutableId"' }

/** Microsoft's own client. It calls the host of a cloud, which is exchanged on the way for its origin here. */
export function openClient(
  { graphHost }: Pick<Cloud, 'graphHost'>,
  token: string,
  originOf: (host: string) => string | undefined,
): Client {
  const authentication = new AuthenticationHandler({ getAccessToken: () => Promise.resolve(token) })
  authentication.setNext({
    async execute(context: Context) {
      const { host, pathname, search } = new URL(String(context.request))
      context.response = await fetch(new URL(pathname + search, originOf(host)), context.options)
    },
  })
  return Client.initWithMiddleware({
    middleware: authentication,
    baseUrl: `https://${graphHost}/`,
    customHosts: new Set([graphHost]),
  })
}
