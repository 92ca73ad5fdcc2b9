import { type Context, Hono } from 'hono'
import type { HostApp, HostEnv } from '../../hosting/host-app.ts'
import type { MicrosoftGround } from '../ground.ts'
import { answerAdminConsent, showAdminConsent } from './admin-consent.ts'
import { answerPage, showAuthorization, showError } from './authorize-pages.ts'
import { discoveryDocument, instanceDocument, issuerOf } from './discovery.ts'
import { type Endpoint, readEndpoint } from './endpoint.ts'
import { errorResponse } from './errors.ts'
import { serveToken } from './token.ts'

type HostContext = Context<HostEnv>

/** Plays the sign-in of a host: its documents, its pages, which keep no session, and its tokens. */
export function loginHost(ground: MicrosoftGround, host: string): HostApp {
  const app: HostApp = new Hono<HostEnv>()
  const endpointOf = (context: HostContext) => readEndpoint(ground, host, context.req.param('tenant') ?? '')
  const onPage =
    (show: (context: HostContext, endpoint: Endpoint) => Response | Promise<Response>) =>
    (context: HostContext) => {
      const endpoint = endpointOf(context)
      return 'code' in endpoint ? showError(context, endpoint) : show(context, endpoint)
    }
  const inJson =
    (answer: (context: HostContext, endpoint: Endpoint) => Response | Promise<Response>) =>
    (context: HostContext) => {
      const endpoint = endpointOf(context)
      return 'code' in endpoint
        ? errorResponse(endpoint, host, ground.clock.now())
        : answer(context, endpoint)
    }

  app.get('/:tenant/discovery/instance', context => context.json(instanceDocument(host)))
  app.get(
    '/:tenant/v2.0/.well-known/openid-configuration',
    inJson((context, endpoint) => context.json(discoveryDocument(endpoint))),
  )
  app.get(
    '/:tenant/discovery/v2.0/keys',
    inJson(async (context, endpoint) => {
      const issuer = issuerOf(host, endpoint.tenant?.id ?? '{tenantid}')
      const published = await ground.keys.at(host).published()
      return context.json({
        keys: published.map(({ jwk, pem }) => ({ ...jwk, x5c: [bodyOf(pem)], issuer })),
      })
    }),
  )
  app.get(
    '/:tenant/oauth2/v2.0/authorize',
    onPage((context, endpoint) =>
      showAuthorization(context, ground, endpoint, new URL(context.req.url).search.slice(1)),
    ),
  )
  app.post(
    '/:tenant/oauth2/v2.0/authorize',
    onPage(async (context, endpoint) =>
      showAuthorization(context, ground, endpoint, await context.req.text()),
    ),
  )
  app.post(
    '/:tenant/signin',
    onPage(async (context, endpoint) => answerPage(context, ground, endpoint, await readForm(context))),
  )
  for (const path of ['/:tenant/adminconsent', '/:tenant/v2.0/adminconsent'])
    app.get(
      path,
      onPage((context, endpoint) =>
        showAdminConsent(context, ground, endpoint, new URL(context.req.url).search.slice(1)),
      ),
    )
  app.post(
    '/:tenant/adminconsent/answer',
    onPage(async (context, endpoint) =>
      answerAdminConsent(context, ground, endpoint, await readForm(context)),
    ),
  )
  app.post(
    '/:tenant/oauth2/v2.0/token',
    inJson(async (context, endpoint) => {
      const authorization = context.req.header('authorization')
      const form = await readForm(context)
      const answer = await serveToken(ground, endpoint, form, authorization, context.env.call)
      return 'code' in answer ? errorResponse(answer, host, ground.clock.now()) : answer
    }),
  )
  return app
}

async function readForm(context: HostContext): Promise<URLSearchParams> {
  return new URLSearchParams(await context.req.text())
}

const bodyOf = (pem: string): string => pem.replaceAll(/-----[^-]+-----|\s/g, '')
