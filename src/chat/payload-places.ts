// Finds the strings of a body that hold a payload or a URL that a machine follows. Knows places and
// forms; payload.ts decodes.

import type { JsonObject, JsonValue } from '../core/json.ts'
import type { PathNode } from './json-path.ts'
import { isKnownFile, isLongBase64, type Payload, readBase64, readDataUrl } from './payload.ts'

type Key = string | number
type Container = JsonObject | JsonValue[]
/** Strings that are longer may be files in a place that is not known. */
const KNOWN_FILE_CHARACTERS = 4096
const keys = (list: string): ReadonlySet<Key> => new Set<Key>(list.split(' '))

/** Members that hold an image, audio or video. */
const MEDIA = keys('image_url video_url audio_url file_url')
/** Objects, and lists of objects, whose `url` may hold an image, audio, video or file. */
const WITH_URL: ReadonlySet<Key> = new Set([
  ...MEDIA,
  ...keys('image video audio file source outputs output content images'),
])
const SOUND = keys('input_audio audio')
/** Objects around the `data` of an image, audio or document, as other providers write them. */
const SOURCES = keys('source inline_data inlineData')

/** Characters of credentials; base64 of images, audio and documents has none of them. */
const URL_SAFE = /[-_]/

/** `image` of a content part, `data` of an object in one, `images[]` of a message. */
function isPicturePlace(key: Key, node: PathNode | null): boolean {
  if (key === 'image') return isPart(node)
  if (key === 'data') return SOURCES.has(node?.key ?? '') && isPart(node?.parent ?? null)
  return node?.key === 'images' && node.parent?.parent?.key === 'messages'
}

const isPart = (node: PathNode | null): boolean =>
  typeof node?.key === 'number' && node.parent?.key === 'content'

/** Members that hold base64 by their name: `b64_json`, `partial_image_b64`. */
const NAMED_BASE64 = /(?:^|_)(?:b64|base64)(?:_|$)/i
/** Members that hold base64 by the type of the object around them. */
const TYPED_BASE64: Readonly<Record<string, RegExp>> = {
  result: /^image_generation_call$/,
  delta: /(?:^|[._])(?:audio|image\w*)\.delta$/,
}

/** Reports whether a member holds the bytes of a picture or a sound. */
function isBytesPlace(key: Key, container: Container): boolean {
  if (typeof key === 'number' || Array.isArray(container)) return false
  if (NAMED_BASE64.test(key)) return true
  const { type } = container
  return typeof type === 'string' && TYPED_BASE64[key]?.test(type) === true
}

/** The name of the object at a node, or of the list that it is in. */
const nameAround = (node: PathNode | null): Key =>
  (typeof node?.key === 'number' ? node.parent?.key : node?.key) ?? ''

/** Names of the media type of data, as providers write it. */
const MEDIA_TYPES = ['media_type', 'mime_type', 'mimeType'] as const
const TEXT_MEDIA = /^(?:text\/|application\/(?:json|xml|yaml|x-ndjson)\b|\S+\+(?:json|xml)\b)/i

/** Reports whether an object says that its data, in base64, is text. */
const saysText = (container: Container): boolean =>
  !Array.isArray(container) &&
  container['type'] !== 'text' &&
  MEDIA_TYPES.some((name) => {
    const media = container[name]
    return typeof media === 'string' && TEXT_MEDIA.test(media)
  })

const UNREADABLE: Payload = { texts: [], isText: false }

/** Reads the payload at a place; null for a string to scan as written. */
export function readPayload(
  text: string,
  container: Container,
  key: Key,
  node: PathNode | null,
): Payload | null {
  if (text.length > KNOWN_FILE_CHARACTERS && isKnownFile(text)) return UNREADABLE
  if (isBytesPlace(key, container)) return readDataUrl(text) ?? readBase64(text)
  const around = node === null ? '' : node.key
  if (MEDIA.has(key) || (key === 'url' && WITH_URL.has(nameAround(node)))) return readDataUrl(text)
  if (key === 'file_data') return readDataUrl(text) ?? readBase64(text)
  if (key === 'data' && isPicturePlace(key, node) && saysText(container)) return readBase64(text, true)
  if (isPicturePlace(key, node)) return readDataUrl(text) ?? (URL_SAFE.test(text) ? null : readBase64(text))
  return key === 'data' && SOUND.has(around) && isLongBase64(text) ? UNREADABLE : null
}

/** A URL with a scheme and a host or path, as a machine follows it. `data:` URLs are payloads. */
const URL_FORM = /^\s*[a-z][a-z0-9+.-]*:\/\//i
/** Containers and members of content parts that hold a URL. */
const LINKED = keys('image image_url video video_url audio audio_url input_audio file file_url')
const LINKS = keys('url uri data file_data file_url file_uri fileUri')
const LINK_OBJECTS = keys('file_data fileData source')
/** Top-level members with messages. */
const CONVERSATIONS = keys('messages prediction choices')

/**
 * Reports whether a string is a URL of a picture, sound, video or file in a message. It may be
 * signed, so one changed character makes it useless.
 */
export function isFollowedUrl(text: string, key: Key, node: PathNode | null): boolean {
  if (node === null || !isLinkPlace(key, node) || !URL_FORM.test(text)) return false
  let top = node
  while (top.parent !== null) top = top.parent
  return CONVERSATIONS.has(top.key)
}

/**
 * `image_url`, `image_url.url`, `input_audio.data`, `file.file_data`, `source.url`, `video[]` of a
 * content part; `images[]` of a message.
 */
function isLinkPlace(key: Key, node: PathNode): boolean {
  const around = node.key
  if (typeof key === 'number') return around === 'images' || LINKED.has(around)
  if (MEDIA.has(key) || (LINKED.has(key) && isPart(node))) return true
  return LINKS.has(key) && (LINKED.has(around) || (LINK_OBJECTS.has(around) && isPart(node.parent)))
}
