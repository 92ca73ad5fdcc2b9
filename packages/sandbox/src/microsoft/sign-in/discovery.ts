import { type Cloud, CLOUDS, cloudsAtLogin } from '../clouds.ts'
import { PERSONAL_TENANT } from '../tenants.ts'
import type { Endpoint } from './endpoint.ts'

/** The issuer of ID tokens of a tenant. */
export const issuerOf = (loginHost: string, tenantId: string): string =>
  `https://${loginHost}/${tenantId}/v2.0`

/** The discovery document of an endpoint (OpenID Connect Discovery section 3). It names the real hosts. */
export function discoveryDocument(endpoint: Endpoint): object {
  const { loginHost, name, tenant } = endpoint
  const cloud = cloudOfDocument(endpoint)
  const at = `https://${loginHost}/${tenant?.id ?? name}`
  const issuedFor = tenant?.id ?? (name === 'consumers' ? PERSONAL_TENANT : '{tenantid}')
  return {
    token_endpoint: `${at}/oauth2/v2.0/token`,
    token_endpoint_auth_methods_supported: ['client_secret_post', 'private_key_jwt', 'client_secret_basic'],
    jwks_uri: `${at}/discovery/v2.0/keys`,
    response_modes_supported: ['query', 'fragment', 'form_post'],
    subject_types_supported: ['pairwise'],
    id_token_signing_alg_values_supported: ['RS256'],
    response_types_supported: ['code'],
    scopes_supported: ['openid', 'profile', 'email', 'offline_access'],
    issuer: issuerOf(loginHost, issuedFor),
    request_uri_parameter_supported: false,
    userinfo_endpoint: `https://${cloud.graphHost}/oidc/userinfo`,
    authorization_endpoint: `${at}/oauth2/v2.0/authorize`,
    claims_supported: [
      'sub',
      'iss',
      'cloud_instance_name',
      'cloud_instance_host_name',
      'cloud_graph_host_name',
      'msgraph_host',
      'aud',
      'exp',
      'iat',
      'auth_time',
      'acr',
      'nonce',
      'preferred_username',
      'name',
      'tid',
      'ver',
      'at_hash',
      'c_hash',
      'email',
    ],
    tenant_region_scope: tenant && tenant.id !== PERSONAL_TENANT ? 'WW' : null,
    cloud_instance_name: cloud.instance,
    cloud_graph_host_name: GRAPH_OF_DIRECTORIES[cloud.name],
    msgraph_host: cloud.graphHost,
    rbac_url: 'https://pas.windows.net',
  }
}

/** Host of the older Azure AD Graph, which discovery documents name as well. */
const GRAPH_OF_DIRECTORIES = {
  global: 'graph.windows.net',
  'gcc-high': 'graph.microsoftazure.us',
  dod: 'graph.microsoftazure.us',
  china: 'graph.chinacloudapi.cn',
} as const

/** A tenant's document names the cloud of the tenant; any other document the first cloud of the host. */
function cloudOfDocument({ loginHost, tenant }: Endpoint): Cloud {
  const [first] = cloudsAtLogin(loginHost)
  if (!first) throw new Error(`no cloud signs in at ${loginHost}`)
  return tenant ? CLOUDS[tenant.cloud] : first
}

/** The hosts of the sign-ins of all clouds, as Microsoft's libraries ask for them. */
export function instanceDocument(loginHost: string): object {
  return {
    tenant_discovery_endpoint: `https://${loginHost}/common/v2.0/.well-known/openid-configuration`,
    'api-version': '1.1',
    metadata: [...new Set(Object.values(CLOUDS).map(cloud => cloud.loginHost))].map(host => ({
      preferred_network: host,
      preferred_cache: host,
      aliases: [host],
    })),
  }
}
