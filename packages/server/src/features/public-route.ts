/** A request for a public route. It carries no credential; the token in its path is everything that it may do. */
export interface PublicRequest {
  /** HEAD is answered like GET, and neither may change what a person decided. */
  method: 'GET' | 'HEAD' | 'POST'
  /** What stands in the path at the place of the parameter, as it was sent. */
  token: string
  query: URLSearchParams
  /** Fields of the form that was posted, urlencoded or multipart, without files. Empty if it was no form. */
  form: URLSearchParams
  /** Cut after 512 characters. */
  userAgent: string | null
  /** What a browser that fetches in advance says of that: `Sec-Purpose`, or the older `Purpose`. */
  purpose: string | null
  client: {
    /** An IPv4 or IPv6 address; null if it is not known. */
    address: string | null
    /** An IPv4 address, or the /64 of an IPv6 one: the same for requests that count together. */
    group: string
  }
}

export interface PublicAnswer {
  status: number
  /** Besides those that keep every public answer out of caches, frames and referrers, or in their place. */
  headers?: Readonly<Record<string, string>>
  /** A text is HTML unless `content-type` says otherwise. */
  body?: string | Uint8Array<ArrayBuffer> | null
}

/**
 * A route outside `/v1` that people and their mail programs call, such as `/u/{token}`. It has no cookies, and is served
 * even when the service sheds load. Requests with an unknown token count for the address of their client; those with a
 * known one are never refused, since proxies of mail share an address among many people.
 */
export interface PublicRoute {
  /** With one parameter, in the last segment: `/u/{token}`, `/t/o/{id}.gif`. */
  path: string
  /** Whether it is part of the links in messages, which are served on a host of their own if there is one. */
  isLink: boolean
  /** Bytes of a form; null if the route takes no POST. */
  formBytesMax: number | null
  /** Null: the token is unknown. */
  serve(request: PublicRequest): Promise<PublicAnswer | null>
}
