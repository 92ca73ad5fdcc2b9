/** An answer of the API. If it is not JSON, `body` is the text. */
export interface Answer<Body> {
  status: number
  body: Body
  headers: Headers
}

type Json = Record<string, unknown>

/** Calls of the API with one credential. */
export interface Caller {
  get<Body = Json>(path: string): Promise<Answer<Body>>
  post<Body = Json>(path: string, body?: unknown): Promise<Answer<Body>>
  patch<Body = Json>(path: string, body?: unknown): Promise<Answer<Body>>
  put<Body = Json>(path: string, body?: unknown): Promise<Answer<Body>>
  delete<Body = Json>(path: string, body?: unknown): Promise<Answer<Body>>
}

export function callerOf(address: string, credential: string | null): Caller {
  async function call<Body>(method: string, path: string, body?: unknown): Promise<Answer<Body>> {
    const answer = await fetch(address + path, {
      method,
      headers: {
        ...(credential === null ? {} : { authorization: `Bearer ${credential}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
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
    post: (path, body) => call('POST', path, body),
    patch: (path, body) => call('PATCH', path, body),
    put: (path, body) => call('PUT', path, body),
    delete: (path, body) => call('DELETE', path, body),
  }
}
