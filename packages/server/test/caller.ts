/** An answer of the API. If it is not JSON, `body` is the text. */
export interface Answer<Body> {
  status: number
  body: Body
  headers: Headers
}

type Json = Record<string, unknown>
type GivenHeaders = Record<string, string>

/** Calls of the API with one credential. */
export interface Caller {
  get<Body = Json>(path: string): Promise<Answer<Body>>
  post<Body = Json>(path: string, body?: unknown, headers?: GivenHeaders): Promise<Answer<Body>>
  patch<Body = Json>(path: string, body?: unknown, headers?: GivenHeaders): Promise<Answer<Body>>
  put<Body = Json>(path: string, body?: unknown, headers?: GivenHeaders): Promise<Answer<Body>>
  delete<Body = Json>(path: string, body?: unknown, headers?: GivenHeaders): Promise<Answer<Body>>
}

export function callerOf(address: string, credential: string | null): Caller {
  async function call<Body>(
    method: string,
    path: string,
    body?: unknown,
    headers: GivenHeaders = {},
  ): Promise<Answer<Body>> {
    const answer = await fetch(address + path, {
      method,
      headers: {
        ...(credential === null ? {} : { authorization: `Bearer ${credential}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
    // Tests state the type of the body that they expect, and compare its values.
    return {
      status: answer.status,
      body: (isJson ? JSON.parse(text) : text) as Body,
      headers: answer.headers,
    }
  }
  return {
    get: path => call('GET', path),
    post: (path, body, headers) => call('POST', path, body, headers),
    patch: (path, body, headers) => call('PATCH', path, body, headers),
    put: (path, body, headers) => call('PUT', path, body, headers),
    delete: (path, body, headers) => call('DELETE', path, body, headers),
  }
}
