package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A server is killed while it decodes, stores or records pictures. Afterwards each image has all its files, and no
// other file is left.
func TestAKilledUploadLeavesNoFile(t *testing.T) {
	t.Parallel()
	p := newProgram(t).with("REDIS_URL=" + privateRedis(t))
	dir := strings.TrimPrefix(p.environ[2], "STOREROOM_MEDIA_URL=file://")
	key := p.mustKey(t, "acme", "10000")
	super := p.MustSuper(t)
	exec := func(sql string) {
		t.Helper()
		if _, err := super.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	server := start(t, p.dir, p.environ, "serve")
	post(t, server.address(t)+"/api/products", key.Key, strings.NewReader(`{"sku":"A","name":"Axe","price":1}`))
	var product int64
	if err := super.QueryRow(t.Context(), `select id from products`).Scan(&product); err != nil {
		t.Fatal(err)
	}
	stored := 0
	for round := range 5 {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		part, err := form.CreateFormFile("file", "a.jpg")
		if err == nil {
			err = jpeg.Encode(part, image.NewGray(image.Rect(0, 0, 2000, 1500)), nil)
		}
		if err != nil || form.Close() != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		address := fmt.Sprintf("%s/api/products/%d/images", server.address(t), product)
		r, err := http.NewRequestWithContext(ctx, "POST", address, &body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Authorization": {"Bearer " + key.Key}, "Content-Type": {form.FormDataContentType()}}
		answered := make(chan int, 1)
		go func() {
			status := 0
			if response, err := http.DefaultClient.Do(r); err == nil {
				status = response.StatusCode
				response.Body.Close()
			}
			answered <- status
		}()
		if round == 0 { // completes
			stored += map[int]int{201: 1}[<-answered]
		} else {
			time.Sleep(time.Duration(round) * 100 * time.Millisecond)
		}
		server.kill(t)
		if round > 0 && <-answered == 201 {
			stored++
		}
		cancel()
		server = start(t, p.dir, p.environ, "serve")
	}
	server.kill(t)
	exec(`update unused_media set due = now(); update tenants_with_work set due = now()`)
	start(t, p.dir, p.environ, "serve").address(t) // it deletes unused files
	var images, reserved int
	for range poll(t) {
		err := super.QueryRow(t.Context(), `
			select (select sum(jsonb_array_length(images)) from products), (select count(*) from unused_media)`,
		).Scan(&images, &reserved)
		if err != nil {
			t.Fatal(err)
		}
		if reserved == 0 {
			break
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	const sizes = 4
	if len(files) != sizes*images || images < stored || stored == 0 {
		t.Errorf("%d images with %d files, %d reserved; %d uploads were answered", images, len(files), reserved, stored)
	}
}
