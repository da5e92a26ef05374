#!/usr/bin/env python3
"""Draws tests/data/street_signs.png, the picture of the quick start: text of several sizes, colours and angles.

Needs Pillow 11.3 (PyPI) and the DejaVu fonts (Debian: fonts-dejavu-core). The picture is committed, so nobody needs to run it.
"""
import os

from PIL import Image, ImageDraw, ImageFilter, ImageFont

FONTS = "/usr/share/fonts/truetype/dejavu/DejaVu"


def board(image, text, font, size, fill, back, place, angle, border=None):
    face = ImageFont.truetype(f"{FONTS}{font}.ttf", size)
    left, top, right, bottom = face.getbbox(text)
    margin = size // 2
    sign = Image.new("RGBA", (right - left + 2 * margin, bottom - top + 2 * margin), back)
    draw = ImageDraw.Draw(sign)
    if border:
        draw.rectangle([2, 2, sign.width - 3, sign.height - 3], outline=border, width=3)
    draw.text((margin - left, margin - top), text, font=face, fill=fill)
    sign = sign.rotate(angle, expand=True, resample=Image.BICUBIC)
    image.paste(sign, place, sign)


def main():
    width, height = 640, 480
    image = Image.new("RGB", (width, height))
    pixels = image.load()
    for y in range(height):  # dusk: a gradient sky over a street
        for x in range(width):
            if y < 330:
                pixels[x, y] = (70 + y // 4, 95 + y // 4, 140 + y // 6)
            else:
                grain = (x * 7919 + y * 104729) % 17
                pixels[x, y] = (78 + grain, 74 + grain, 72 + grain)
    draw = ImageDraw.Draw(image)
    for x, w, top, shade in [(0, 150, 120, 88), (160, 200, 60, 104), (370, 130, 150, 80), (510, 130, 90, 96)]:
        draw.rectangle([x, top, x + w, 340], fill=(shade, shade - 8, shade - 20))
        for wy in range(top + 18, 300, 44):
            for wx in range(x + 14, x + w - 20, 36):
                draw.rectangle([wx, wy, wx + 16, wy + 24], fill=(210, 190, 120) if (wx + wy) % 3 else (50, 56, 66))
    image = image.filter(ImageFilter.GaussianBlur(1.2))
    board(image, "WEAVER STREET", "Sans-Bold", 34, "white", (18, 70, 150, 255), (28, 40), 4, "white")
    board(image, "BAKERY", "Serif-Bold", 44, (250, 225, 150), (110, 30, 24, 255), (372, 64), -3)
    board(image, "open 7 - 19", "Sans", 20, (30, 30, 30), (240, 236, 220, 255), (430, 168), 0)
    board(image, "No parking", "Sans-Bold", 26, (170, 20, 20), (245, 245, 245, 255), (60, 196), -7, (170, 20, 20))
    board(image, "Platform 12", "SansMono-Bold", 24, (255, 190, 40), (20, 20, 24, 255), (236, 262), 0)
    board(image, "TAXI", "Sans-Bold", 52, (20, 20, 20), (250, 205, 40, 255), (60, 350), 2)
    board(image, "graph e-class rewrite", "Sans", 22, (225, 225, 225), (0, 0, 0, 0), (300, 372), 0)
    board(image, "no. 42", "Serif", 18, (40, 30, 20), (214, 196, 160, 255), (540, 230), 0)
    image.quantize(64, dither=Image.Dither.NONE).convert("RGB").save(
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "street_signs.png"), optimize=True)


if __name__ == "__main__":
    main()
